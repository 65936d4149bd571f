package failpoint

import (
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

// The mongos fail points that drivers' tests use.
const (
	Command = "failCommand"
	// GetMore is the name of the fail point that fails a getMore after it has checked out its cursor.
	GetMore = "failGetMoreAfterCursorCheckout"
)

// Points are the fail points of a node.
type Points struct {
	Command Point
	// GetMore applies after a getMore has checked out its cursor.
	GetMore Point
}

// Point is the server's failCommand: the selected commands fail for all clients before they are parsed.
// It counts only matching commands. The zero value is off.
type Point struct {
	mu           sync.Mutex
	mode         mock.FailPointMode
	timesEntered int64 // number of failed commands
	failure      Failure
	random       *rand.Rand // for activationProbability, with a fixed seed: runs are repeatable
}

// Failure describes how a command fails.
type Failure struct {
	commands           []string
	appName, namespace string // empty matches any
	Block              time.Duration
	CloseConnection    bool
	Code               mongoerr.Code
	Labels             bson.A // nil for the labels that the server would add
	writeConcernError  bson.Raw
}

// IsOn reports whether the fail point is active. Callers can skip TakeFailure otherwise.
func (p *Point) IsOn() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mode.Active
}

// TakeFailure counts a matching command and returns its failure, nil if it does not fail.
func (p *Point) TakeFailure(cmd *commands.Command, appName, namespace string) *Failure {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mode.Active || !p.failure.matches(cmd, appName, namespace) {
		return nil
	}
	if p.random == nil {
		p.random = rand.New(rand.NewPCG(5, 6))
	}
	if !p.mode.ShouldFail(func(probability float64) bool { return p.random.Float64() < probability }) {
		return nil
	}
	p.timesEntered++
	failure := p.failure
	return &failure
}

// matches reports whether the failure applies to a command, which may be listed by an alias.
func (f *Failure) matches(cmd *commands.Command, appName, namespace string) bool {
	listed := func(name string) bool { return slices.Contains(f.commands, name) }
	return (listed(cmd.Name) || slices.ContainsFunc(cmd.Aliases, listed)) &&
		(f.appName == "" || f.appName == appName) && (f.namespace == "" || f.namespace == namespace)
}

// AddWriteConcernError adds the write concern error to the reply of a successful command.
func (f *Failure) AddWriteConcernError(reply bson.Raw) bson.Raw {
	if f == nil || f.writeConcernError == nil {
		return reply
	}
	var fields bson.D
	if err := bson.Unmarshal(reply, &fields); err != nil {
		return reply
	}
	fields = append(fields, bson.E{Key: "writeConcernError", Value: f.writeConcernError})
	if len(f.Labels) > 0 {
		fields = append(fields, bson.E{Key: "errorLabels", Value: f.Labels})
	}
	changed, err := bson.Marshal(fields)
	if err != nil {
		return reply
	}
	return changed
}

// Replace replaces the settings of the fail point and returns how often it was entered before.
func (p *Point) Replace(next *Point) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode, p.failure = next.mode, next.failure
	return p.timesEntered
}

// ReadPoint reads the configureFailPoint command of a named fail point.
func ReadPoint(body bson.Raw, name string) (*Point, error) {
	mode, err := ReadMode(body)
	p := &Point{mode: mode}
	if err != nil || !mode.Active {
		return p, err
	}
	data, isDoc := body.Lookup("data").DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"failCommand needs data, like {failCommands: [\"insert\"], errorCode: 91}")
	}
	if name == GetMore {
		p.failure.commands = []string{"getMore"}
		return p, p.failure.readOutcome(data)
	}
	return p, p.failure.read(data)
}

// ReadMode reads the mode of a fail point from the configureFailPoint command.
func ReadMode(body bson.Raw) (mock.FailPointMode, error) {
	m := mock.FailPointMode{Active: true, Times: -1}
	err := readMode(&m, body.Lookup("mode"))
	return m, err
}

// TimesEntered returns how often the fail point was entered.
func (p *Point) TimesEntered() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.timesEntered
}

func readMode(m *mock.FailPointMode, v bson.RawValue) error {
	if word, isText := v.StringValueOK(); isText {
		switch word {
		case "off":
			m.Active = false
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
		m.Times = IntOrZero(times)
		m.Active = m.Times > 0
		return checkModeCount("times", times)
	case !skip.IsZero():
		m.Skip = IntOrZero(skip)
		return checkModeCount("skip", skip)
	case !chance.IsZero():
		f, isNumber := chance.AsFloat64OK()
		if !isNumber || f < 0 || f > 1 {
			return mongoerr.New(mongoerr.BadValue, "activationProbability must be between 0.0 and 1.0")
		}
		m.Probability, m.Active = f, f > 0
		return nil
	}
	return mongoerr.New(mongoerr.BadValue,
		"'mode' must be one of {times: n}, {skip: n}, {activationProbability: p}, 'alwaysOn' and 'off'")
}

func checkModeCount(field string, v bson.RawValue) error {
	n, isNumber := v.AsInt64OK()
	switch {
	case !isNumber:
		return mongoerr.New(mongoerr.TypeMismatch, "'%s' option to 'mode' must be a number", field)
	case n < 0 || n > 1<<31-1:
		return mongoerr.New(mongoerr.BadValue, "'%s' option to 'mode' must be between 0 and 2147483647", field)
	}
	return nil
}

func (f *Failure) read(data bson.Raw) error {
	names, isArray := data.Lookup("failCommands").ArrayOK()
	if !isArray {
		return mongoerr.New(mongoerr.TypeMismatch, "data.failCommands must be an array of command names")
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

// readOutcome reads the effect of a failure, and the application and namespace to which it applies.
func (f *Failure) readOutcome(data bson.Raw) error {
	f.appName, f.namespace = args.Text(data.Lookup("appName")), args.Text(data.Lookup("namespace"))
	f.CloseConnection = args.IsTrueOrNonzero(data.Lookup("closeConnection"))
	f.Code = mongoerr.Code(IntOrZero(data.Lookup("errorCode")))
	if args.IsTrueOrNonzero(data.Lookup("blockConnection")) {
		f.Block = time.Duration(IntOrZero(data.Lookup("blockTimeMS"))) * time.Millisecond
	}
	if labels, given := data.Lookup("errorLabels").ArrayOK(); given {
		f.Labels = bson.A{}
		values, err := labels.Values()
		if err != nil {
			return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		for _, v := range values {
			f.Labels = append(f.Labels, args.Text(v))
		}
	}
	if doc, given := data.Lookup("writeConcernError").DocumentOK(); given {
		f.writeConcernError = slices.Clone(doc)
	}
	return nil
}

// IntOrZero returns a number as an integer, 0 if v is not a number.
func IntOrZero(v bson.RawValue) int64 {
	n, _ := v.AsInt64OK()
	return n
}
