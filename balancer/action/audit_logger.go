package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/audit"
	"shardsh/balancer/consent"
	"shardsh/balancer/live"
	"shardsh/balancer/mongoerr"
)

// newAuditLogger opens the audit log of a run.
func newAuditLogger(ctx context.Context, c Cluster, destinations []string, o runStart) (*auditLogger, error) {
	sink, err := audit.OpenAll(ctx, destinations, c.Client)
	if err != nil {
		return nil, err
	}
	a := &auditLogger{sink: sink, destination: strings.Join(destinations, ", "), clock: c.Clock, template: audit.Entry{
		Run: bson.NewObjectID().Hex(), Actor: audit.CurrentActor(), Verb: o.verb, Plan: o.planID,
		ApprovedHash: o.approvedHash,
	}}
	a.template.MongoUser = mongoUser(ctx, c.Client)
	return a, nil
}

// startAuditLog opens the audit log of a run, and writes the start of the run.
func startAuditLog(ctx context.Context, c Cluster, destinations []string, o runStart) (*auditLogger, error) {
	a, err := newAuditLogger(ctx, c, destinations, o)
	if err != nil {
		return nil, err
	}
	began := a.template
	began.ID, began.Kind, began.Namespaces = began.Run, audit.Began, o.namespaces
	if err := a.write(ctx, &began); err != nil {
		return nil, errors.Join(err, a.sink.Close())
	}
	a.began = began.At
	return a, nil
}

// endFunc returns a function that writes the end of the run to the audit log.
func (c *auditLogger) endFunc(ctx context.Context, namespaces []string) func(stopped string, err error) error {
	return func(stopped string, err error) error {
		ended := c.template
		ended.ID, ended.Kind, ended.Namespaces, ended.Outcome = ended.Run, audit.Ended, namespaces, audit.Done
		switch {
		case err != nil:
			ended.Outcome, ended.Error = audit.Failed, shorten(err.Error())
		case stopped != "":
			ended.Outcome, ended.Error = audit.Stopped, shorten(stopped)
		}
		c.setMillis(&ended, c.began)
		failed := c.write(context.WithoutCancel(ctx), &ended)
		return errors.Join(err, failed, c.sink.Close())
	}
}

// mongoUser returns the user as which the connection is authenticated; empty without a login.
func mongoUser(ctx context.Context, client *mongo.Client) string {
	var status struct {
		AuthInfo struct {
			Users []struct{ User, DB string } `bson:"authenticatedUsers"`
		} `bson:"authInfo"`
	}
	ask := client.Database("admin").RunCommand(ctx, bson.D{{Key: "connectionStatus", Value: 1}})
	if ask.Decode(&status) != nil || len(status.AuthInfo.Users) == 0 {
		return ""
	}
	var names []string
	for _, u := range status.AuthInfo.Users {
		names = append(names, u.User+"@"+u.DB)
	}
	return strings.Join(names, ",")
}

// auditLogger writes the changes of a run to the audit log.
type auditLogger struct {
	sink        audit.Sink
	destination string
	clock       interface{ Now() time.Time }
	template    audit.Entry
	began       time.Time
	entryCount  atomic.Int64

	mu      sync.Mutex
	pending []audit.Entry // outcomes that could not be written yet
}

// now returns the time of an entry.
func (c *auditLogger) now() time.Time { return c.clock.Now().UTC().Truncate(time.Millisecond) }

// write writes the pending entries and then an entry.
func (c *auditLogger) write(ctx context.Context, e *audit.Entry) error {
	e.At = c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.flush(ctx); err != nil {
		return err
	}
	return c.writeEntry(ctx, *e)
}

// logOutcome writes the outcome of a command, or keeps it until the next command if that fails.
func (c *auditLogger) logOutcome(ctx context.Context, e audit.Entry) {
	e.At = c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = append(c.pending, e)
	_ = c.flush(ctx) // tried again before the next command is sent
}

func (c *auditLogger) flush(ctx context.Context) error {
	for len(c.pending) > 0 {
		if err := c.writeEntry(ctx, c.pending[0]); err != nil {
			return err
		}
		c.pending = c.pending[1:]
	}
	return nil
}

// flushAll writes the pending entries at the end of a run.
func (c *auditLogger) flushAll(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flush(ctx)
}

func (c *auditLogger) writeEntry(ctx context.Context, e audit.Entry) error {
	if err := c.sink.Write(ctx, e); err != nil {
		return &audit.Error{Destination: c.destination, Err: err}
	}
	return nil
}

func (c *auditLogger) setMillis(e *audit.Entry, began time.Time) {
	e.Millis = c.clock.Now().Sub(began).Milliseconds()
}

// auditedRunner writes commands that change something to the audit log, before they are sent and after
// they were answered.
type auditedRunner struct {
	live.CommandRunner
	audit *auditLogger
}

// RunCommand sends a command after it was written to the audit log. A command that restores settings
// that the run has switched off is sent even if the audit log has failed.
func (r auditedRunner) RunCommand(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	if len(command) == 0 || live.IsReadCommand(command[0].Key) {
		return r.CommandRunner.RunCommand(ctx, database, command)
	}
	entry, err := r.audit.logSending(ctx, database, command, namespacesOf(database, command))
	if err != nil && !isRestoring(command) {
		return nil, err
	}
	reply, err := r.CommandRunner.RunCommand(ctx, database, command)
	r.audit.logAnswer(ctx, entry, reply, err)
	return reply, err
}

// logSending writes that a command, which changes collections, is about to be sent.
func (c *auditLogger) logSending(ctx context.Context, database string, command bson.D, namespaces []string) (
	audit.Entry, error) {
	entry := c.template
	entry.ID = fmt.Sprintf("%s-%d", entry.Run, c.entryCount.Add(1))
	entry.Kind, entry.Database, entry.Namespaces = audit.Sending, database, namespaces
	entry.At = c.now() // of a command, too, that can't be written
	var err error
	if entry.Command, err = audit.CommandOf(command); err != nil {
		return entry, err
	}
	err = c.write(ctx, &entry)
	return entry, err
}

// logAnswer writes the outcome of a command.
func (c *auditLogger) logAnswer(ctx context.Context, entry audit.Entry, reply bson.Raw, err error) {
	entry.Kind = audit.Answered
	entry.Outcome, entry.Code, entry.Error = outcomeOf(reply, err)
	c.setMillis(&entry, entry.At)
	c.logOutcome(context.WithoutCancel(ctx), entry)
}

// outcomeOf returns the outcome of a command. A command without an answer may have been executed.
func outcomeOf(reply bson.Raw, err error) (audit.Outcome, int32, string) {
	if err == nil {
		if _, missing := reply.LookupErr("writeErrors"); missing == nil {
			return audit.Failed, 0, "some of its statements have failed"
		}
		return audit.Done, 0, ""
	}
	var answered *mongoerr.ServerError
	if errors.As(live.ServerError(err), &answered) {
		return audit.Failed, int32(answered.Code), shorten(answered.Error())
	}
	if errors.As(err, new(*consent.RefusedError)) { // the command was not sent
		return audit.Failed, 0, shorten(err.Error())
	}
	return audit.Unknown, 0, shorten(err.Error())
}

// shorten shortens an error text to the length of an entry in the audit log.
func shorten(text string) string {
	const most = 400
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// namespacesOf returns the collections that a command changes.
func namespacesOf(database string, command bson.D) (names []string) {
	name, ok := command[0].Value.(string)
	switch {
	case command[0].Key == "update" && database == "config" && name == "collections":
		for _, e := range command {
			statements, _ := e.Value.(bson.A)
			for _, s := range statements {
				statement, _ := s.(bson.D)
				for _, f := range statement {
					if q, _ := f.Value.(bson.D); f.Key == "q" && len(q) > 0 && q[0].Key == "_id" {
						ns, _ := q[0].Value.(string)
						names = append(names, ns)
					}
				}
			}
		}
		return names
	case isOneOf([]string{"aggregate", "bulkWrite", "mapReduce"}, command[0].Key):
		raw, err := bson.Marshal(command)
		if err != nil {
			return nil // it can't be sent
		}
		return otherConfigWrites(database, raw)
	case ok && (strings.Contains(name, ".") || isOneOf(databaseCommands, command[0].Key)):
		return []string{name}
	case ok && database == "config": // a write to the config database
		return []string{database + "." + name}
	}
	return nil
}

// isRestoring reports whether a command restores settings that a run has switched off, or stops an
// operation that the run has started. Sending such a command without an audit entry is better than not
// sending it.
func isRestoring(command bson.D) bool {
	value := func(name string) any {
		for _, e := range command {
			if e.Key == name {
				return e.Value
			}
		}
		return nil
	}
	switch command[0].Key {
	case "balancerStart", "stopShardDraining", "stopTransitionToDedicatedConfigServer", "killOp":
		return true
	case "configureCollectionBalancing":
		return value("enableBalancing") == true
	case "update":
		text, err := audit.CommandOf(command)
		return err == nil && strings.Contains(string(text), `"noBalance":false`)
	}
	return false
}
