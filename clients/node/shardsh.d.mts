export interface Options {
  /** How many empty shards (3). */
  shards?: number;
  /** The release to behave like: "5.0". */
  version?: string;
  /** A file that describes the cluster. */
  topology?: string;
  /** A file of shardsh snapshot or of mock.save(). */
  snapshot?: string;
  /** With one, all chance repeats. */
  seed?: number;
  /** A directory that keeps the cluster. */
  dbpath?: string;
  /** real, virtual, or a pace such as 60x. */
  time?: string;
  /** Server parameters by their own names. */
  parameters?: Record<string, string | number | boolean>;
  /** The program; else $SHARDSH_BINARY, else shardsh on the path. */
  binary?: string;
  /** How long the start may take, in milliseconds (10 000). */
  timeout?: number;
}

export interface Cluster extends AsyncDisposable {
  /** The connection string, for any driver. */
  readonly uri: string;
  /** Ends the cluster; resolves when it is gone. */
  stop(): Promise<void>;
}

/** Starts a cluster; resolves when it can be used. It ends with this process at the latest. */
export function start(options?: Options): Promise<Cluster>;
