// Package mock is a sharded cluster in memory: a config server catalog, shards
// that hold real BSON documents and virtual data besides, migrations that
// copy, catch up, commit and leave orphans to a range deleter, and the
// balancer engine on top.
//
// Time is virtual or real. On virtual time everything that takes time is an
// event of one queue; whoever waits (a command, a sleep) runs the events that
// come first, so a run repeats exactly. On real time one goroutine runs the
// events when they are due, and the engine has a goroutine of its own.
//
// One lock guards the whole cluster. Exported methods that begin with a
// context take it themselves; all others are for callers between Lock and
// Unlock, which is how the router runs one command. Nobody who holds it waits for
// the disk (package disk): what has changed is handed over, and whoever must know
// that it is written waits after giving the lock back.
package mock
