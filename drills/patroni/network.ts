// Machines in namespaces of this one, joined by a switch. No namespace has a name, and each machine ends when its
// standard input closes. So all of it disappears with the process that started it, even if that process is killed.

import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';

/** The end of the cable that this machine has. One network can be open at a time. */
const CABLE = 'petstore-drill';
const PREFIX = '10.213.77';
const OWN_NUMBER = 254;
const SWITCH = 'switch';

/** Removes the folder when standard input closes. The machines, which write to it, end at the same moment. */
const HOLDER = 'echo ready; read -r end; sleep 1; rm -rf "$1"';

const execute = promisify(execFile);
const ip = (...words: string[]) => execute('ip', words);

export function canOpenNetwork(): boolean {
  return spawnSync('unshare', ['--net', 'nsenter', '--version']).status === 0;
}

export class Network {
  readonly #holder: ChildProcess;
  readonly #machines = new Set<Machine>();

  private constructor(holder: ChildProcess) {
    this.#holder = holder;
  }

  /** The folder is removed when the network is closed, or this process ends. */
  static async open(folder: string): Promise<Network> {
    const network = new Network(await start(['--net', 'sh', '-c', HOLDER, 'sh', folder]));
    try {
      await network.#switch('link', 'add', SWITCH, 'type', 'bridge');
      await network.#switch('link', 'set', SWITCH, 'up');
      const peer = ['peer', 'cable', 'netns', network.#id];
      await ip('link', 'add', CABLE, 'type', 'veth', ...peer);
      await ip('address', 'add', `${addressOf(OWN_NUMBER)}/24`, 'dev', CABLE);
      await ip('link', 'set', CABLE, 'up');
      await network.connect('cable');
      return network;
    } catch (error) {
      await network.close();
      throw error;
    }
  }

  /** Starts a machine that has this address in the network. */
  async startMachine(name: string, number: number): Promise<Machine> {
    // The cable of a machine that was killed may still be there for a moment.
    await this.#switch('link', 'delete', name).catch(() => undefined);
    const flags = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc'];
    const machine = new Machine(await start([...flags, 'bash'], 'echo ready\n'));
    this.#machines.add(machine);
    // The others must find it again after a restart, so it keeps its hardware address too.
    const hardware = `02:00:00:00:00:0${number}`;
    const peer = ['peer', 'eth0', 'address', hardware, 'netns', machine.id];
    await this.#switch('link', 'add', name, 'type', 'veth', ...peer);
    await this.connect(name);
    machine.run('ip link set lo up');
    machine.run(`ip address add ${addressOf(number)}/24 dev eth0`);
    machine.run('ip link set eth0 up');
    return machine;
  }

  async connect(name: string): Promise<void> {
    await this.#switch('link', 'set', name, 'master', SWITCH, 'up');
  }

  /** As if the switch no longer forwarded from and to this machine: nobody is told, packets are lost. */
  async disconnect(name: string): Promise<void> {
    await this.#switch('link', 'set', name, 'nomaster');
  }

  async close(): Promise<void> {
    await Promise.all([...this.#machines].map((machine) => machine.kill()));
    await ip('link', 'delete', CABLE).catch(() => undefined);
    const ended = once(this.#holder, 'exit');
    this.#holder.stdin?.end();
    await ended;
  }

  get #id(): string {
    return String(this.#holder.pid);
  }

  async #switch(...words: string[]): Promise<void> {
    await execute('nsenter', ['--net', `--target=${this.#id}`, 'ip', ...words]);
  }
}

/** A shell with its own network and processes. */
export class Machine {
  readonly #shell: ChildProcess;

  constructor(shell: ChildProcess) {
    this.#shell = shell;
  }

  get id(): string {
    return String(this.#shell.pid);
  }

  /** Runs a command in the shell. Commands run in order, and nobody waits for them. */
  run(command: string): void {
    this.#shell.stdin?.write(`${command}\n`);
  }

  /** Ends all processes of the machine. */
  async kill(): Promise<void> {
    if (this.#shell.exitCode !== null || this.#shell.signalCode !== null) return;
    const ended = once(this.#shell, 'exit');
    this.#shell.kill('SIGKILL');
    await ended;
  }
}

export function addressOf(number: number): string {
  return `${PREFIX}.${number}`;
}

/** Resolves when the namespaces are there: the program in them has printed something. */
async function start(words: readonly string[], input?: string): Promise<ChildProcess> {
  // Ctrl-C must reach the drill, which then ends the rest.
  const child = spawn('unshare', words, {
    env: { LC_ALL: 'C', PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: true,
  });
  child.stdin.on('error', () => undefined);
  if (input !== undefined) child.stdin.write(input);
  const ready = once(child.stdout, 'data');
  const failed = once(child, 'exit').then(() => {
    throw new Error('no namespaces could be made');
  });
  await Promise.race([ready, failed]);
  failed.catch(() => undefined);
  return child;
}
