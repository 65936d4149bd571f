// Package mock implements a sharded cluster in memory: a config server with its catalog, shards that
// hold real BSON documents and also virtual data, migrations that copy, catch up, commit and leave
// orphans to a range deleter, and the balancer engine.
//
// # Parts
//
// A Cluster consists of parts. Each has its own state and a prefix of file names: ConfigDB (config_),
// Collections, Indexes and Databases (collection_, database), Chunks (chunk_), Migrations (migration_),
// Reshardings (reshard_), Membership and the contents of shards (shard_), Balancer (balancer_), Faults
// (fault_), Statistics (stats_), the reads and writes of documents for a command (Request, document_),
// and the storage on disk (disk_). Each part refers to the parts that it uses, which makeParts sets;
// none refers to the Cluster. Separate packages implement the clock (time, events, the lock), ids and
// parameters.
//
// # Time
//
// Time is virtual or real. On virtual time everything that takes time is an event in one queue. A
// waiting command or sleep runs the next events, so a run is exactly repeatable. On real time one
// goroutine runs the events when they are due, and the engine has its own goroutine.
//
// # Panics
//
// A panic ends the current operation, not the process. If a step of a migration or a resharding panics,
// the operation fails with InternalError, and so does a command. Periodic work continues. The stack is
// logged. Code that starts an operation for which others wait must run its steps with Clock.Attempt.
//
// # The lock
//
// One lock guards the cluster and all its parts.
//
//   - The caller of every method, exported or not, holds the lock, except for the methods below. To run
//     a command, take the lock with Lock, call the methods that the command needs, and release it with
//     Unlock. Events run with the lock held.
//   - New's goroutines take the lock, and so do the following methods, whose callers must not hold it:
//     Close, Save, Load, SetListenAddresses, ShardCount, Faults.TakeFailure, and all methods of a Clock,
//     of an Engine and of a Planter.
//   - Methods whose comment says so need no lock, such as ids.Source.ClusterTime, Clock.Replacements and
//     Language. Nor do Release, Version and Parameters, which have their own lock or never change while
//     the cluster runs.
//
// Taking the lock may let time pass: with a ClockSpeed, Lock first runs the events that have fallen due
// since the last Unlock. Data that was read before is then out of date.
//
// The same applies to waits. A function that waits (Await, and functions with a context and a deadline
// such as Move, Stop, AwaitWritable and Reshard) requires the lock, and others may have changed the
// cluster when it returns. On real time it releases the lock while it waits. On virtual time it keeps
// the lock and runs the next events, and so do Spend and Advance. A command in progress is a Request,
// not a field of the cluster, so a wait need not save and restore anything.
//
// # Computing
//
// Computations that a client can make long must not hold the lock: filters, pipelines, updates, sorting,
// and the encoding of replies. A command captures the data that it reads with the lock held (Reads:
// snapshots of collections, which are copied on write, and routing tables, which are immutable). Then it
// releases the lock with Call.WithoutLock and computes. A write searches and computes the updates of its
// documents in the same way. With the lock held again, it changes the documents that are unchanged
// since; for others it starts over.
//
// Call.WithoutLock is like a wait: data that was read from the cluster before is out of date afterwards,
// except captured data. On virtual time no time passes meanwhile.
//
// A computation ends when the command's context ends. The cause of the context is the error to return:
// maxTimeMS has passed (in real time, in addition to the deadline in the cluster's time), the command
// was killed, its client has disconnected, or the server stops.
//
// Other locks are taken while this lock is held, never the other way round: the lock of the engine
// (which is not held during waits or calls of the cluster), that of the Parameters, and that of the
// disk's queue. A holder of the lock never waits for the disk (package disk). It adds the changes to a
// queue. Code that must know that they are written releases the lock before it waits.
package mock
