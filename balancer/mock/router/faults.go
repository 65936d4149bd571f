package router

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mongoerr"
)

// lateness is how much later than the command ran its answer is due, on real
// time. On virtual time the cluster's clock has moved instead.
type lateness time.Duration

func (l lateness) sleep(ctx context.Context) {
	if l <= 0 {
		return
	}
	timer := time.NewTimer(time.Duration(l))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// runFaulty runs a command on a cluster whose nodes may be away or slow, or
// that was told to fail it.
func (r *Router) runFaulty(cmd *command, c *call) (bson.D, error) {
	var failure *mock.Failure
	c.request, failure = r.cluster.BeginRequest(cmd.Name)
	c.request.Under(c.ctx, c.deadline, c.outside)
	c.request.Through(r.entry.Node, r.routes)
	reply, err := r.runUnless(failure, cmd, c)
	c.slow = c.request.Slow()
	return reply, c.labelled(err)
}

// delayed returns what becomes of a reply where nodes are slow, and how much later
// than now it is due on real time.
func (r *Router) delayed(c *call, raw bson.Raw) (bson.Raw, lateness) {
	if !c.slow {
		return raw, 0
	}
	r.cluster.Lock()
	defer r.cluster.Unlock()
	took := c.request.End(int64(len(c.body.Raw) + len(raw)))
	if late := r.cluster.Now().Add(took); !c.deadline.IsZero() && late.After(c.deadline) {
		took = max(0, c.deadline.Sub(r.cluster.Now()))
		raw = r.reply(nil, errMaxTime())
	}
	if r.cluster.RealTime() {
		return raw, lateness(took)
	}
	r.cluster.Spend(took)
	return raw, 0
}

func (r *Router) runUnless(failure *mock.Failure, cmd *command, c *call) (bson.D, error) {
	if failure != nil && failure.CloseConnection {
		c.drop()
		return nil, errCrashed()
	}
	if failure != nil && failure.Code != 0 {
		return nil, failure.Err()
	}
	if err := askParticipants(cmd, c); err != nil {
		return nil, err
	}
	if err := checkNamed(cmd, c); err != nil {
		return nil, err
	}
	reply, err := cmd.run(c)
	forgetRoutes(cmd, c)
	reply = c.withSnapshotTime(reply)
	countTargets(cmd, c)
	sampleQuery(cmd, c)
	if err != nil {
		return reply, err
	}
	if concern := r.concernError(failure, cmd, c); concern != nil {
		reply = append(reply, bson.E{Key: "writeConcernError", Value: concern})
	}
	return reply, nil
}

// sampleQuery samples a command, if its collection's queries are sampled and it is
// time. The cluster's lock is held.
func sampleQuery(cmd *command, c *call) {
	all := c.node.analyzers
	if len(all) == 0 {
		return
	}
	name, isText := c.body.Lookup(c.invoked).StringValueOK()
	a := all.of(c.db + "." + name)
	if !isText || a == nil {
		return
	}
	list, err := outside(c, func(context.Context) ([]sampledQuery, error) { return sampleable(cmd.Name, c.body.Raw), nil })
	if err == nil {
		a.note(list, c.cluster.Now())
	}
}

// concernError returns the write concern error of a command that was applied:
// what it, or one of the shards it asked, was made to fail with, or a concern
// that the cluster can't satisfy. It is nil for none.
func (r *Router) concernError(failure *mock.Failure, cmd *command, c *call) bson.D {
	if failure != nil && failure.WriteConcernError != nil {
		return failure.WriteConcernError
	}
	if concern := c.request.WriteConcernError(); concern != nil {
		return concern
	}
	return unsatisfied(cmd, c)
}

// failOutside fails a command that needs no cluster where it was told to.
func (r *Router) failOutside(cmd *command, c *call) error {
	if cmd.Mock {
		return nil
	}
	failure := r.cluster.Faults().FailureOf(cmd.Name)
	if failure == nil {
		return nil
	}
	if failure.CloseConnection {
		c.drop()
		return errCrashed()
	}
	return failure.Err()
}

// crashed reports whether this is a member of the cluster that has crashed: it
// drops who talks to it.
func (r *Router) crashed() bool {
	if r.member == nil {
		return false
	}
	r.cluster.Lock()
	defer r.cluster.Unlock()
	return r.cluster.Faults().Crashed(r.member.ID)
}

// drop closes the connection of the call in place of an answer.
func (c *call) drop() {
	if c.client != nil {
		c.client.Drop()
	}
}

// errCrashed returns what a client without a connection gets.
func errCrashed() error {
	return mongoerr.New(mongoerr.HostUnreachable, "the connection is closed")
}

// retryableCodes returns the errors after which a driver may send a retryable
// write again.
func retryableCodes() []mongoerr.Code {
	return []mongoerr.Code{
		mongoerr.HostUnreachable, mongoerr.HostNotFound, mongoerr.NetworkTimeout, mongoerr.ShutdownInProgress,
		mongoerr.PrimarySteppedDown, mongoerr.ExceededTimeLimit, mongoerr.SocketException, mongoerr.NotWritablePrimary,
		mongoerr.InterruptedAtShutdown, mongoerr.InterruptedDueToReplStateChange, mongoerr.NotPrimaryNoSecondaryOk,
		mongoerr.NotPrimaryOrSecondary,
	}
}

// labelled adds the label that tells drivers they may try a write again.
func (c *call) labelled(err error) error {
	code, known := mongoerr.CodeOf(err)
	if !known || c.body.Lookup("txnNumber").IsZero() || !slices.Contains(retryableCodes(), code) ||
		mongoerr.HasExtra(err, "errorLabels") {
		return err
	}
	var server *mongoerr.ServerError
	errors.As(err, &server)
	labelled := *server
	labelled.Message = err.Error()
	labelled.Extra = append(slices.Clone(server.Extra), bson.E{Key: "errorLabels", Value: bson.A{"RetryableWriteError"}})
	return &labelled
}

// askParticipants fails when a node that the command asks, whatever it is about,
// can't be reached.
func askParticipants(cmd *command, c *call) error {
	needs := cmd.Asks
	if needs == 0 {
		return nil
	}
	ns := c.subject(cmd)
	db, _, _ := strings.Cut(ns, ".")
	for _, need := range []struct {
		of  commands.Nodes
		ask func() error
	}{
		{commands.ConfigServer, c.request.AskConfig},
		{commands.EveryShard, c.request.AskShards},
		{commands.Owners, func() error { return c.request.Ask(ns, nil) }},
		{commands.Primary, func() error { return c.request.AskPrimary(db) }},
	} {
		if needs&need.of == 0 {
			continue
		}
		if err := need.ask(); err != nil {
			return err
		}
	}
	return nil
}

// subject returns the namespace that a command is about: commands on admin name
// all of it.
func (c *call) subject(cmd *command) string {
	name, _ := c.body.Lookup(c.invoked).StringValueOK()
	if cmd.AdminOnly || cmd.Name == "dataSize" {
		return name
	}
	return c.db + "." + name
}

// countTargets counts how far a request went. The cluster's lock is held.
func countTargets(cmd *command, c *call) {
	by := c.node.counters.targeted[cmd.Name]
	name, isText := c.body.Lookup(c.invoked).StringValueOK()
	if by == nil || !isText {
		return
	}
	coll, err := c.cluster.ConfigDB().Sharded(c.db + "." + name)
	if err != nil || coll.Unsplittable {
		by[toUnsharded].Add(1)
		return
	}
	switch n := c.request.Reached(); {
	case n <= 1:
		by[toOneShard].Add(1)
	case n >= len(c.cluster.ConfigDB().Table(coll.Namespace).Owners()):
		by[toAllShards].Add(1)
	default:
		by[toManyShards].Add(1)
	}
}
