package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// Failure describes a command failure. A failing command has no effect.
type Failure struct {
	Command string
	// Shard restricts the failure to commands that contact this shard; empty for all commands.
	Shard catalog.ShardID
	// After is the number of commands that succeed first, Times the number of commands that fail then.
	After, Times int64
	// Code and Message are the error; a Code of 0 means no error.
	Code    mongoerr.Code
	Message string
	// Labels are error labels; nil for the labels that the server would add.
	Labels []string
	// Extra are additional fields of the error.
	Extra bson.D
	// CloseConnection closes the client's connection instead of sending a reply.
	CloseConnection bool
	// WriteConcernError is added to the reply of a command that has succeeded.
	WriteConcernError bson.D
}

// Err returns the error that the command fails with.
func (f *Failure) Err() error {
	err := mongoerr.New(f.Code, "%s", f.Message)
	err.Extra = f.Extra
	if f.Labels != nil {
		err.Extra = append(slices.Clip(err.Extra), bson.E{Key: "errorLabels", Value: document.ListOf(f.Labels)})
	}
	return err
}

// FailNext adds a failure. Several failures of one command apply in the order in which they were added.
func (fs *Faults) FailNext(f Failure) error {
	if f.Shard != "" {
		id, err := fs.parseServer(string(f.Shard))
		if err != nil {
			return err
		}
		f.Shard = id
	}
	fs.failures = append(fs.failures, &f)
	fs.mayHaveFailures.Store(true)
	return nil
}

// TakeFailure counts a command that does not use the cluster and returns its failure, nil if there is
// none. It takes the lock only if failures exist.
func (fs *Faults) TakeFailure(command string) *Failure {
	if !fs.mayHaveFailures.Load() {
		return nil
	}
	fs.clock.Lock()
	defer fs.clock.Unlock()
	if len(fs.failures) == 0 {
		fs.mayHaveFailures.Store(false)
	}
	return fs.takeFailure(command, "")
}

// takeFailure counts a command and returns its first failure, nil if there is none.
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

// faultEffects notifies the balancer and the migrations of node failures.
type faultEffects struct {
	balancer   *Balancer
	migrations *Migrations
}

func (e faultEffects) onConfigServerDown() { e.balancer.stopLoop() }

// onConfigServerUp starts a new term.
func (e faultEffects) onConfigServerUp() {
	e.balancer.term++
	e.balancer.startEngine()
}

func (e faultEffects) onNodesChanged() {
	for _, m := range e.migrations.activeByDonor() {
		m.abortIfPartitioned()
	}
	for _, m := range slices.Clone(e.migrations.unfinished) {
		m.recover()
	}
}

func (e faultEffects) unfinishedMigrations() int { return len(e.migrations.unfinished) }
