// What tests for shardsh test see besides the shell's own globals (db, sh, mock, …).
// shardsh test --types > shardsh-test.d.ts

/** What the cluster of a suite or a test begins with, and how it runs. */
interface TestOptions {
  /** A topology file or its content. */
  topology?: string | object
  /** So many empty shards. */
  shards?: number
  /** A file of shardsh snapshot or of mock.save(). */
  snapshot?: string
  /** A script that furnishes the cluster. */
  fixture?: string
  serverVersion?: string
  seed?: number
  /** Server parameters. */
  parameters?: Record<string, unknown>
  /** Milliseconds of real time. */
  timeout?: number
  /** false leaves it out of --every-fault. */
  everyFault?: boolean
}

type Body = () => void | Promise<void>

interface Describe {
  (name: string, body: () => void): void
  (name: string, options: TestOptions, body: () => void): void
}

interface It {
  (name: string, body?: Body, timeout?: number): void
  (name: string, options: TestOptions, body: Body): void
}

declare const describe: Describe & { only: Describe; skip: Describe }
declare const it: It & { only: It; skip: It; todo(name: string): void }
declare const test: typeof it
declare function before(body: Body): void
declare function beforeAll(body: Body): void
declare function after(body: Body): void
declare function afterAll(body: Body): void
declare function beforeEach(body: Body): void
declare function afterEach(body: Body): void

/** A command that a script has sent. */
interface SentCommand {
  db: string
  name: string
  command: any
  reply?: any
  error?: string
  /** Of the cluster's time. */
  ms: number
}

interface ScriptResult {
  exitCode: number
  output: string
  errors: string
  /** The output, where it is JSON. */
  json: any
  commands: SentCommand[]
}

/** Runs a script as the program would, on the test's cluster. */
declare function run(script: string, options?: { args?: string[]; env?: Record<string, string>; stdin?: string }):
  ScriptResult

type MigrationEvent = "start" | "clone" | "catchUp" | "commit" | "committed" | "done" | "failed"
type Happening = ((event?: { event: string; ns: string; from: string; to: string }) => void) | Record<string, any>

/** The test's cluster: what mock has, and what happens later. */
declare const cluster: {
  [method: string]: (...args: any[]) => any
  atCommand(n: number, what: Happening): void
  onMigration(event: MigrationEvent, what: Happening, options?: { every?: boolean }): void
  failAt(n: number, error?: { code?: number; errmsg?: string }): void
  cutAfter(n: number): void
}

interface Matchers<R> {
  not: Matchers<R>
  resolves: Matchers<Promise<void>>
  rejects: Matchers<Promise<void>>
  toBe(expected: any): R
  toEqual(expected: any): R
  toStrictEqual(expected: any): R
  toMatchObject(expected: object): R
  toContain(expected: any): R
  toContainEqual(expected: any): R
  toHaveLength(expected: number): R
  toHaveProperty(path: string | string[], value?: any): R
  toBeTruthy(): R
  toBeFalsy(): R
  toBeNull(): R
  toBeUndefined(): R
  toBeDefined(): R
  toBeNaN(): R
  toBeInstanceOf(expected: Function): R
  toBeTypeOf(expected: string): R
  toBeGreaterThan(expected: any): R
  toBeGreaterThanOrEqual(expected: any): R
  toBeLessThan(expected: any): R
  toBeLessThanOrEqual(expected: any): R
  toBeCloseTo(expected: number, digits?: number): R
  toMatch(expected: string | RegExp): R
  toThrow(expected?: any): R
  toThrowError(expected?: any): R
  toMatchSnapshot(hint?: string): R
  /** expect(cluster): balanced by the rules of its release. */
  toBeBalanced(ns?: string): R
  /** expect(cluster): what was there before a script is there still. */
  toHaveLostNothing(): R
  /** expect(cluster): chunks, documents and catalog agree. */
  toBeConsistent(): R
  /** expect(sh.verify(ns)): the collection has the same documents still, to the byte. */
  toBeUnchanged(): R
  /** expect("db.collection"), expect("db") or expect(cluster): sh.audit() finds nothing. */
  toPassAudit(): R
}

interface Asymmetric {
  anything(): any
  any(type: Function): any
  objectContaining(fields: object): any
  arrayContaining(items: any[]): any
  stringContaining(part: string): any
  stringMatching(expected: string | RegExp): any
  closeTo(expected: number, digits?: number): any
}

declare const expect: ((received: any) => Matchers<void>) & Asymmetric & {
  not: Asymmetric
  extend(matchers: Record<string, (received: any, ...args: any[]) => { pass: boolean; message: string | (() => string) }>):
    void
}
