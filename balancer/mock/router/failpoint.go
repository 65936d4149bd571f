package router

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mongoerr"
)

// The fail points of a mongos that drivers' tests use.
const (
	failCommand = "failCommand"
	// failGetMore fails a getMore when its cursor is in hand.
	failGetMore = "failGetMoreAfterCursorCheckout"
)

// failPoints are those of a node.
type failPoints struct {
	command failPoint
	// getMore strikes when a cursor is in hand.
	getMore failPoint
}

// failPoint is the server's failCommand: chosen commands fail, whoever sends
// them, before they are looked at. It counts only commands that match.
// Zero is off.
type failPoint struct {
	mu      sync.Mutex
	active  bool
	skip    int64   // so many go through first
	times   int64   // then so many fail; below 0 there is no end
	chance  float64 // of a command to fail; 0 is certainty
	entered int64   // how often it has struck
	failure commandFailure
}

// commandFailure is what happens to a command.
type commandFailure struct {
	commands           []string
	appName, namespace string // empty is any
	block              time.Duration
	closeConnection    bool
	code               mongoerr.Code
	labels             bson.A // nil means those that the server would add
	writeConcernError  bson.Raw
}

// isOn saves the look at commands where nothing is to fail.
func (p *failPoint) isOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.active
}

// strike counts a command that matches and tells what happens to it, if
// anything.
func (p *failPoint) strike(cmd *commands.Command, appName, namespace string) *commandFailure {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.active || !p.failure.matches(cmd, appName, namespace) {
		return nil
	}
	if p.skip > 0 {
		p.skip--
		return nil
	}
	if p.chance > 0 && rand.Float64() >= p.chance {
		return nil
	}
	p.entered++
	if p.times > 0 {
		p.times--
		p.active = p.times > 0
	}
	failure := p.failure
	return &failure
}

// matches: a command may be listed by any of its names.
func (f *commandFailure) matches(cmd *commands.Command, appName, namespace string) bool {
	listed := func(name string) bool { return slices.Contains(f.commands, name) }
	return (listed(cmd.Name) || slices.ContainsFunc(cmd.Aliases, listed)) &&
		(f.appName == "" || f.appName == appName) && (f.namespace == "" || f.namespace == namespace)
}

// failPointFor returns what the fail point does to a call.
func (r *Router) failPointFor(cmd *command, c *call) *commandFailure {
	if cmd == nil || cmd.Mock {
		return nil
	}
	return failPointOf(&r.failPoints.command, cmd, c)
}

func failPointOf(point *failPoint, cmd *command, c *call) *commandFailure {
	if !point.isOn() {
		return nil
	}
	app := ""
	if c.peer != nil {
		app = args.Text(c.peer.metadata.Lookup("application", "name"))
	}
	if app == "" { // the first hello brings it along
		app = args.Text(c.body.Lookup("client", "application", "name"))
	}
	namespace := c.db + "." + args.Text(c.body.Lookup(c.invoked))
	return point.strike(cmd.Command, app, namespace)
}

// failBefore does what a failure does before the command runs; done tells that
// this was all.
func (r *Router) failBefore(ctx context.Context, f *commandFailure, c *call) (reply bson.Raw, done bool) {
	if f == nil {
		return nil, false
	}
	wait := f.block
	limit := time.Duration(intOf(c.body.Lookup("maxTimeMS"))) * time.Millisecond
	if limit > 0 && wait > limit {
		lateness(limit).sleep(ctx)
		return r.reply(nil, mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")), true
	}
	lateness(wait).sleep(ctx)
	switch {
	case f.closeConnection:
		c.drop()
		return r.reply(nil, errCrashed()), true
	case f.code != 0:
		err := mongoerr.New(f.code, "Failing command via 'failCommand' failpoint")
		if f.labels != nil {
			err.Extra = bson.D{{Key: "errorLabels", Value: f.labels}}
			return r.reply(nil, err), true
		}
		return r.reply(nil, c.labelled(err)), true
	}
	return nil, false
}

// failAfter adds the write concern error to the reply of a command that was
// carried out.
func (f *commandFailure) failAfter(reply bson.Raw) bson.Raw {
	if f == nil || f.writeConcernError == nil {
		return reply
	}
	var fields bson.D
	if err := bson.Unmarshal(reply, &fields); err != nil {
		return reply
	}
	fields = append(fields, bson.E{Key: "writeConcernError", Value: f.writeConcernError})
	if len(f.labels) > 0 {
		fields = append(fields, bson.E{Key: "errorLabels", Value: f.labels})
	}
	changed, err := bson.Marshal(fields)
	if err != nil {
		return reply
	}
	return changed
}

// testCommands reports whether the cluster was started with the commands that
// are there for tests only.
func testCommands(cluster *mock.Cluster) bool {
	return cluster.Parameters().Int("enableTestCommands") != 0
}

// failOn is what the fail point of getMore does to a cursor.
func failOn(open *cursor, c *call) error {
	f := failPointOf(&c.node.failPoints.getMore, c.node.commands["getMore"], c)
	switch {
	case f == nil:
		return nil
	case f.closeConnection:
		c.drop()
		return errCrashed()
	}
	err := mongoerr.New(f.code, "Hit the '%s' failpoint", failGetMore)
	if open.streams() && resumable(f.code) {
		err.Extra = bson.D{{Key: "errorLabels", Value: bson.A{"ResumableChangeStreamError"}}}
	}
	return err
}

func failPointHandlers() map[string]handler {
	return map[string]handler{
		"configureFailPoint": configureFailPoint,
	}
}

func configureFailPoint(c *call) (bson.D, error) {
	if c.db != "admin" {
		return nil, mongoerr.New(mongoerr.Unauthorized, "configureFailPoint may only be run against the admin database.")
	}
	name := args.Text(c.body.Lookup(c.invoked))
	point := map[string]*failPoint{failCommand: &c.node.failPoints.command, failGetMore: &c.node.failPoints.getMore}[name]
	if point == nil {
		return nil, mongoerr.New(mongoerr.BadValue, "the mock has the fail points '%s' and '%s', not '%s'", failCommand,
			failGetMore, name)
	}
	next, err := readFailPoint(c.body.Raw, name)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "count", Value: point.replace(next)}}, nil
}

// replace sets a fail point and tells how often the one before it struck.
func (p *failPoint) replace(next *failPoint) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active, p.skip, p.times, p.chance, p.failure = next.active, next.skip, next.times, next.chance, next.failure
	return p.entered
}

func readFailPoint(body bson.Raw, name string) (*failPoint, error) {
	p := &failPoint{active: true, times: -1}
	if err := p.readMode(body.Lookup("mode")); err != nil || !p.active {
		return p, err
	}
	data, isDoc := body.Lookup("data").DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"failCommand needs data, like {failCommands: [\"insert\"], errorCode: 91}")
	}
	if name == failGetMore {
		p.failure.commands = []string{"getMore"}
		return p, p.failure.readOutcome(data)
	}
	return p, p.failure.read(data)
}

func (p *failPoint) readMode(v bson.RawValue) error {
	if word, isText := v.StringValueOK(); isText {
		switch word {
		case "off":
			p.active = false
			return nil
		case "alwaysOn":
			return nil
		}
		return mongoerr.New(mongoerr.BadValue, "unknown mode: %s", word)
	}
	mode, isDoc := v.DocumentOK()
	if !isDoc {
		return mongoerr.New(mongoerr.TypeMismatch, "'mode' must be a string or JSON object")
	}
	times, skip, chance := mode.Lookup("times"), mode.Lookup("skip"), mode.Lookup("activationProbability")
	switch {
	case !times.IsZero():
		p.times = intOf(times)
		p.active = p.times > 0
		return countMode("times", times)
	case !skip.IsZero():
		p.skip = intOf(skip)
		return countMode("skip", skip)
	case !chance.IsZero():
		f, isNumber := chance.AsFloat64OK()
		if !isNumber || f < 0 || f > 1 {
			return mongoerr.New(mongoerr.BadValue, "activationProbability must be between 0.0 and 1.0")
		}
		p.chance, p.active = f, f > 0
		return nil
	}
	return mongoerr.New(mongoerr.BadValue,
		"'mode' must be one of {times: n}, {skip: n}, {activationProbability: p}, 'alwaysOn' and 'off'")
}

func countMode(field string, v bson.RawValue) error {
	n, isNumber := v.AsInt64OK()
	switch {
	case !isNumber:
		return mongoerr.New(mongoerr.TypeMismatch, "'%s' option to 'mode' must be a number", field)
	case n < 0 || n > 1<<31-1:
		return mongoerr.New(mongoerr.BadValue, "'%s' option to 'mode' must be between 0 and 2147483647", field)
	}
	return nil
}

func (f *commandFailure) read(data bson.Raw) error {
	names, isArray := data.Lookup("failCommands").ArrayOK()
	if !isArray {
		return mongoerr.New(mongoerr.TypeMismatch, "data.failCommands is an array of commands' names")
	}
	values, err := names.Values()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	for _, v := range values {
		f.commands = append(f.commands, args.Text(v))
	}
	return f.readOutcome(data)
}

// readOutcome reads what happens, and to whom.
func (f *commandFailure) readOutcome(data bson.Raw) error {
	f.appName, f.namespace = args.Text(data.Lookup("appName")), args.Text(data.Lookup("namespace"))
	f.closeConnection = args.Truth(data.Lookup("closeConnection"))
	f.code = mongoerr.Code(intOf(data.Lookup("errorCode")))
	if args.Truth(data.Lookup("blockConnection")) {
		f.block = time.Duration(intOf(data.Lookup("blockTimeMS"))) * time.Millisecond
	}
	if labels, given := data.Lookup("errorLabels").ArrayOK(); given {
		f.labels = bson.A{}
		values, err := labels.Values()
		if err != nil {
			return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		for _, v := range values {
			f.labels = append(f.labels, args.Text(v))
		}
	}
	if doc, given := data.Lookup("writeConcernError").DocumentOK(); given {
		f.writeConcernError = slices.Clone(doc)
	}
	return nil
}

// intOf returns a number as a whole one, 0 for what is none.
func intOf(v bson.RawValue) int64 {
	n, _ := v.AsInt64OK()
	return n
}
