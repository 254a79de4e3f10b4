declare module 'pgpass' {
  /** Finds the password of a connection in the file of passwords, which libpq reads too. */
  export default function pgPass(
    connection: { host: string; port: number; database: string; user: string },
    onFound: (password: string | undefined) => void,
  ): void;
}
