//go:build unix

package loadcheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// quitSignal makes the program say where all its goroutines are.
const quitSignal = syscall.SIGQUIT

// faults makes things fail, one after another, and mends them after a while.
type faults struct {
	*load
	chance *rand.Rand
}

func newFaults(l *load) *faults { return &faults{l, l.chance(200)} }

// command runs a command of the mock's.
func (f *faults) command(ctx context.Context, command bson.D) {
	f.does(ctx, "%v", command)
	f.result("fault: "+command[0].Key, f.client.Database("admin").RunCommand(ctx, command).Err())
}

func (f *faults) node() string {
	if n := f.chance.IntN(shards + 1); n < shards {
		return fmt.Sprintf("shard%d", n)
	}
	return "config"
}

func (f *faults) pause(most time.Duration) { time.Sleep(time.Duration(f.chance.Int64N(int64(most)))) }

func (f *faults) step(ctx context.Context) {
	kinds := []func(context.Context){
		f.crash, f.crash, f.partition, f.partition, f.slow, f.failNext, f.failNext, f.failNext, f.failCommand,
		f.stepDown, f.freeze, f.kill, f.mendAll,
	}
	kinds[f.chance.IntN(len(kinds))](ctx)
	f.pause(200 * time.Millisecond)
}

func (f *faults) crash(ctx context.Context) {
	node := f.node()
	f.command(ctx, bson.D{{Key: "mockCrash", Value: node}})
	f.pause(300 * time.Millisecond)
	f.command(ctx, bson.D{{Key: "mockRestart", Value: node}})
}

func (f *faults) partition(ctx context.Context) {
	pair := bson.A{f.node(), f.node()}
	if f.chance.IntN(3) == 0 {
		pair[0] = "router"
	}
	f.command(ctx, bson.D{{Key: "mockPartition", Value: pair}})
	f.pause(300 * time.Millisecond)
	if f.chance.IntN(2) == 0 {
		f.command(ctx, bson.D{{Key: "mockHeal", Value: pair}})
	}
}

func (f *faults) slow(ctx context.Context) {
	node := f.node()
	f.command(ctx, bson.D{
		{Key: "mockSlow", Value: node}, {Key: "bandwidth", Value: "5MB"},
		{Key: "latency", Value: f.chance.Int64N(20)},
	})
	f.pause(500 * time.Millisecond)
	f.command(ctx, bson.D{{Key: "mockSlow", Value: node}})
}

// failing are commands that are made to fail.
func failing() []string {
	return []string{
		"insert", "update", "delete", "findAndModify", "find", "getMore", "aggregate", "moveRange", "moveChunk", "split",
		"mergeChunks", "shardCollection", "reshardCollection", "drop", "renameCollection", "removeShard", "addShard",
		"unshardCollection", "moveCollection", "movePrimary", "_shardsvrMoveRange", "_shardsvrMergeAllChunksOnShard",
		"_configsvrCommitChunkMigration", "splitChunk", "dataSize", "hello", "createIndexes", "dropDatabase",
	}
}

func (f *faults) failNext(ctx context.Context) {
	names := failing()
	command := bson.D{
		{Key: "mockFailNext", Value: names[f.chance.IntN(len(names))]},
		{Key: "times", Value: int64(1 + f.chance.IntN(3))}, {Key: "after", Value: f.chance.Int64N(3)},
	}
	switch f.chance.IntN(4) {
	case 0:
		command = append(command, bson.E{Key: "closeConnection", Value: true})
	case 1:
		command = append(command, bson.E{Key: "writeConcernError", Value: bson.M{"code": int32(64)}})
	default:
		codes := []int64{6, 89, 91, 189, 11600, 11602, 63, 13388, 112, 46, 117}
		command = append(command, bson.E{Key: "code", Value: codes[f.chance.IntN(len(codes))]})
	}
	if f.chance.IntN(3) == 0 {
		command = append(command, bson.E{Key: "shard", Value: fmt.Sprintf("shard%d", f.chance.IntN(shards))})
	}
	f.command(ctx, command)
}

// failCommand is the server's own fail point.
func (f *faults) failCommand(ctx context.Context) {
	names := failing()
	f.command(ctx, bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.M{"times": 1 + f.chance.IntN(4)}},
		{Key: "data", Value: bson.M{
			"failCommands": bson.A{names[f.chance.IntN(len(names))], names[f.chance.IntN(len(names))]},
			"errorCode":    91, "blockConnection": f.chance.IntN(2) == 0, "blockTimeMS": 20,
		}},
	})
}

func (f *faults) stepDown(ctx context.Context) {
	f.command(ctx, bson.D{{Key: "mockStepDown", Value: 1}})
}

// freeze keeps the whole process from running.
func (f *faults) freeze(context.Context) {
	f.program.freeze(time.Duration(f.chance.IntN(100)) * time.Millisecond)
	f.count("fault: freeze")
}

// kill ends the process, well or not, and starts it again.
func (f *faults) kill(ctx context.Context) {
	if !f.program.round.kills {
		return
	}
	f.does(ctx, "kill")
	sig, name := syscall.SIGKILL, "SIGKILL"
	if f.chance.IntN(5) == 0 {
		sig, name = syscall.SIGTERM, "SIGTERM"
	}
	if err := f.program.stop(sig); err != nil {
		f.fail("%s: %v", name, err)
	}
	if code := f.program.cmd.ProcessState.ExitCode(); sig == syscall.SIGTERM && code != 0 {
		f.fail("exit code %d after SIGTERM\n%s", code, f.program.log.tail())
	}
	f.program.start()
	f.count("fault: " + name)
}

func (f *faults) mendAll(context.Context) { f.mend() }

// mend ends all faults.
func (l *load) mend() {
	ctx, cancel := patiently()
	defer cancel()
	admin := l.client.Database("admin")
	for _, command := range []bson.D{
		{{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: "off"}},
		{{Key: "mockHeal", Value: 1}}, {{Key: "mockRestart", Value: 1}},
	} {
		err := admin.RunCommand(ctx, command).Err()
		// Another fault may cost it its connection, or somebody kills it.
		for err != nil && ctx.Err() == nil && l.program.alive() {
			err = admin.RunCommand(ctx, command).Err()
		}
		if err != nil && l.program.alive() {
			l.fail("%v: %v", command, err)
		}
	}
}
