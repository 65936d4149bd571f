// Package mock is a sharded cluster in memory: a config server with its catalog,
// shards that hold real BSON documents and virtual data besides, migrations that
// copy, catch up, commit and leave orphans to a range deleter, and the balancer
// engine on top.
//
// # Parts
//
// A Cluster is made of parts, each with a state of its own and a prefix of file
// names: ConfigDB (config_), Collections, Indexes and Databases (collection_,
// database), Chunks (chunk_), Migrations (migration_), Reshardings (reshard_),
// Membership and what a shard holds (shard_), Balancer (balancer_), Faults
// (fault_), Statistics (stats_), what reads and writes documents for a command
// (Request, document_), and what keeps all of it on disk (disk_). Each holds what
// it works with, which makeParts gives it; none holds the Cluster. Below it are
// packages of their own: clock (time, events, the lock), ids, and parameters.
//
// # Time
//
// Time is virtual or real. On virtual time everything that takes time is an
// event of one queue; whoever waits (a command, a sleep) runs the events that
// come first, so a run repeats exactly. On real time one goroutine runs the
// events when they are due, and the engine has a goroutine of its own.
//
// # Panics
//
// A mistake of the program ends what is at hand, not the process: a step of a
// migration or a resharding that panics ends that operation with InternalError,
// a command is answered with it, what is periodic goes on, and the log has the
// stack. Who starts something that others wait for runs its steps with attempt.
//
// # The lock
//
// One lock guards the cluster and all its parts.
//
//   - It is held by the caller of every method, exported or not, but for those
//     named next: who runs a command takes it with Lock, calls what the command
//     needs, and gives it back with Unlock. Events run with it held.
//   - It is taken by New's goroutines, and by these methods, whose callers must
//     not hold it: Close, Save, Load, SetListenAddresses, ShardCount, Faults.TakeFailure,
//     and all methods of a Clock and of an Engine.
//   - It is not needed for GossipTime, Release, Version, Replaced, and Parameters, which
//     have a lock of their own or never change while the cluster runs.
//
// To take it lets time pass: with a Pace, Lock first runs the events that have
// fallen due since somebody had it last. What was read before is out of date.
//
// So it is after a wait. Whatever waits (Await, and what takes a context and a
// deadline: Move, Stop, AwaitWritable, Reshard and the like) needs the lock, and
// others have changed the cluster when it returns. On real time it gives the
// lock away meanwhile; on virtual time it keeps it and runs the events that come
// next, and so do Spend and Advance. A command that is under way is a Request,
// not a field of the cluster: nothing needs to be put back after a wait.
//
// # Computing
//
// Nobody computes with the lock held what a client can make long: filters,
// pipelines, updates, sorting, the encoding of replies. A command captures, with
// the lock held, what it reads (Reads: snapshots of collections, which are copied
// when they are written, and routing tables, which never change), gives the lock
// back with Outside, and computes on that. A write looks for its documents in the
// same way and computes what becomes of them; with the lock held it changes those
// that are still what they were, and for others it starts over.
//
// So it is with Outside as with a wait: what was read of the cluster before is out
// of date afterwards, but for what was captured. On virtual time no time passes
// meanwhile.
//
// What a command computes ends with its context, whose cause is the error to
// return: the time of maxTimeMS is up (real time, beside the deadline in the
// cluster's), somebody killed it, its client or the server is gone.
//
// Other locks are taken with this one held, never the other way round: the
// engine's (under which nothing waits or calls the cluster), that of the
// Parameters, that of the disk's queue. Nobody who holds it waits for the disk
// (package disk): what has changed is handed over, and whoever must know that it
// is written waits after giving the lock back.
package mock
