import { Server } from 'node:http';

/** Shows each event of an HTTP server to `take`. If that returns true, the service does not get the event. */
export function intercept(take: (event: string, args: unknown[], server: Server) => boolean): void {
  const emit = Reflect.get(Server.prototype, 'emit') as (...args: unknown[]) => boolean;
  Server.prototype.emit = function (this: Server, event: string, ...args: unknown[]) {
    return take(event, args, this) || emit.call(this, event, ...args);
  };
}
