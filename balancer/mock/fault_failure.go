package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Failure makes commands fail without being applied.
type Failure struct {
	Command string
	// Shard limits it to commands that ask this shard; empty is any command.
	Shard catalog.ShardID
	// After commands go through first, then Times commands fail.
	After, Times int64
	// Code and Message are the error; a code of 0 is none.
	Code    mongoerr.Code
	Message string
	// Labels are error labels; nil means those that the server would add.
	Labels []string
	// Extra are further fields of the error.
	Extra bson.D
	// CloseConnection drops the client instead of an answer.
	CloseConnection bool
	// WriteConcernError is added to the reply of a command that was applied.
	WriteConcernError bson.D
}

// Err returns the error that the command fails with.
func (f *Failure) Err() error {
	err := mongoerr.New(f.Code, "%s", f.Message)
	err.Extra = f.Extra
	if f.Labels != nil {
		labels := bson.A{}
		for _, l := range f.Labels {
			labels = append(labels, l)
		}
		err.Extra = append(err.Extra[:len(err.Extra):len(err.Extra)], bson.E{Key: "errorLabels", Value: labels})
	}
	return err
}

// FailNext arms a failure. Several of one command come in their order.
func (fs *Faults) FailNext(f Failure) error {
	if f.Shard != "" {
		id, err := fs.parseServer(string(f.Shard))
		if err != nil {
			return err
		}
		f.Shard = id
	}
	fs.failures = append(fs.failures, &f)
	fs.maybeArmed.Store(true)
	return nil
}

// TakeFailure counts a command that needs nothing of the cluster against the
// failures armed for it. It takes the lock where there are any.
func (fs *Faults) TakeFailure(command string) *Failure {
	if !fs.maybeArmed.Load() {
		return nil
	}
	fs.clock.Lock()
	defer fs.clock.Unlock()
	if len(fs.failures) == 0 {
		fs.maybeArmed.Store(false)
	}
	return fs.takeFailure(command, "")
}

// takeFailure counts a command against the first failure armed for it.
func (fs *Faults) takeFailure(command string, shard catalog.ShardID) *Failure {
	for i, f := range fs.failures {
		if f.Command != command || f.Shard != shard {
			continue
		}
		if f.After > 0 {
			f.After--
			return nil
		}
		if f.Times--; f.Times <= 0 {
			fs.failures = append(fs.failures[:i:i], fs.failures[i+1:]...)
		}
		return f
	}
	return nil
}

// faultEffects notifies the balancer and the migrations of faults of the nodes
// they run on.
type faultEffects struct {
	balancer   *Balancer
	migrations *Migrations
}

func (e faultEffects) configServerDown() { e.balancer.stopLoop() }

// configServerUp begins a new term.
func (e faultEffects) configServerUp() {
	e.balancer.term++
	e.balancer.startEngine()
}

func (e faultEffects) nodesChanged() {
	for _, m := range e.migrations.byDonor() {
		m.abortIfSeparated()
	}
	for _, m := range slices.Clone(e.migrations.unfinished) {
		m.recover()
	}
}

func (e faultEffects) unfinished() int { return len(e.migrations.unfinished) }
