package servers

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

func parameterHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"getParameter": getParameter,
		"setParameter": setParameter,
	}
}

// AuthSchemaVersion is the version of the format in which servers store users. Dump tools read it.
const AuthSchemaVersion = int32(5)

// DefaultParameters returns the mongos parameters that tools read, with their defaults. They can be set,
// but only cursorTimeoutMillis and the parameters of query statistics have an effect.
func DefaultParameters(r catalog.Release) map[string]*call.Parameter {
	fixed := func(v any) *call.Parameter { return &call.Parameter{Value: v, SettableAtStartup: true} }
	free := func(v any) *call.Parameter {
		return &call.Parameter{Value: v, SettableAtRuntime: true, SettableAtStartup: true}
	}
	share := 0.0
	if r.SamplesQueryStats() {
		share = 0.01
	}
	return map[string]*call.Parameter{
		queryStatsRate:                      free(int32(0)),
		queryStatsShare:                     free(share),
		"authSchemaVersion":                 {Value: AuthSchemaVersion},
		"authenticationMechanisms":          fixed(bson.A{"MONGODB-X509", "SCRAM-SHA-1", "SCRAM-SHA-256"}),
		"connPoolMaxConnsPerHost":           fixed(int32(200)),
		"cursorTimeoutMillis":               free(int64(call.CursorTimeout / time.Millisecond)),
		"disableLogicalSessionCacheRefresh": fixed(false),
		"enableTestCommands":                fixed(false),
		"loadBalancerPort":                  fixed(int32(0)),
		"localLogicalSessionTimeoutMinutes": fixed(int32(call.SessionTimeout / time.Minute)),
		"logLevel":                          free(int32(0)),
		"logicalSessionRefreshMillis":       fixed(int32(300000)),
		"maxSessions":                       fixed(int32(call.MaxSessions)),
		"maxTimeMSForHedgedReads":           free(int32(10)),
		"quiet":                             free(false),
		"readHedgingMode":                   free("off"),
		"scramIterationCount":               free(int32(10000)),
		"scramSHA256IterationCount":         free(int32(15000)),
		"tlsMode":                           free("disabled"),
		"traceExceptions":                   free(false),
	}
}

// lookupParameter returns a parameter of the node and when it can be set.
func lookupParameter(c *call.Call, name string) (value any, runtime, startup, known bool) {
	if c.Node.Member != nil {
		if value, known = c.Node.MemberState.Parameter(c, name); known {
			return value, false, false, true
		}
		value, runtime, known = c.Cluster.Parameters().Value(name)
		return value, runtime, true, known
	}
	own := c.Node.Parameters[name]
	if own == nil {
		return nil, false, false, false
	}
	if name == "enableTestCommands" {
		return call.HasTestCommands(c.Cluster), false, true, true
	}
	return own.Value, own.SettableAtRuntime, own.SettableAtStartup, true
}

func parameterNames(c *call.Call) []string {
	if c.Node.Member != nil {
		return slices.Sorted(slices.Values(append(c.Cluster.Parameters().Names(), c.Node.MemberState.ParameterNames()...)))
	}
	return slices.Sorted(maps.Keys(c.Node.Parameters))
}

// parameterQuery is the options of getParameter.
type parameterQuery struct {
	all, details     bool
	runtime, startup bool // only parameters that can be set at that time
}

func readParameterQuery(v bson.RawValue) (parameterQuery, error) {
	if text, isText := v.StringValueOK(); isText && text == "*" {
		return parameterQuery{all: true}, nil
	}
	doc, isDoc := v.DocumentOK()
	if !isDoc {
		return parameterQuery{}, nil
	}
	if err := args.Check("getParameter", parameterQueryFields(), doc); err != nil {
		return parameterQuery{}, err
	}
	q := parameterQuery{all: args.IsTrueOrNonzero(doc.Lookup("allParameters")),
		details: args.IsTrueOrNonzero(doc.Lookup("showDetails"))}
	at := doc.Lookup("setAt")
	if at.IsZero() {
		return q, nil
	}
	text, _ := at.StringValueOK()
	q.runtime, q.startup = text == "runtime", text == "startup"
	return q, nil
}

// parameterQueryFields returns the fields of the document that getParameter accepts as its value.
func parameterQueryFields() []args.Field {
	return []args.Field{
		args.Optional("showDetails", args.SafeBool), args.Optional("allParameters", args.SafeBool),
		args.Optional("setAt", args.String).OneOf("startup", "runtime"),
	}
}

// getParameter returns parameters by name or all parameters (rules/03-commands §1.10). It skips unknown
// names.
func getParameter(c *call.Call) (bson.D, error) {
	q, err := readParameterQuery(c.Body.Lookup("getParameter"))
	if err != nil {
		return nil, err
	}
	reply := bson.D{}
	for _, name := range parameterNames(c) {
		value, runtime, startup, known := lookupParameter(c, name)
		if !known || !q.all && c.Body.Lookup(name).IsZero() || q.runtime && !runtime || q.startup && !startup {
			continue
		}
		if q.details {
			value = bson.D{{Key: "value", Value: value}, {Key: "settableAtRuntime", Value: runtime},
				{Key: "settableAtStartup", Value: startup}}
		}
		reply = append(reply, bson.E{Key: name, Value: value})
	}
	if len(reply) == 0 {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "no option found to get")
	}
	return reply, nil
}

// setParameter sets parameters in order and returns the previous value of the first one. It checks all
// names before it sets any.
func setParameter(c *call.Call) (bson.D, error) {
	elems, err := c.Body.Elements()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	var asked []bson.RawElement
	for _, e := range elems {
		if e.Key() == "setParameter" || args.IsGeneric(e.Key()) {
			continue
		}
		_, runtime, _, known := lookupParameter(c, e.Key())
		switch {
		case !known:
			return nil, mongoerr.New(mongoerr.InvalidOptions,
				"attempted to set unrecognized parameter [%s], use help:true to see options ", e.Key())
		case !runtime:
			return nil, mongoerr.New(mongoerr.IllegalOperation, "not allowed to change [%s] at runtime", e.Key())
		}
		asked = append(asked, e)
	}
	if len(asked) == 0 {
		return nil, mongoerr.New(mongoerr.InvalidOptions, "no option found to set, use help:true to see options ")
	}
	var was any
	for i, e := range asked {
		old, err := assignParameter(c, e.Key(), e.Value())
		if err != nil {
			return nil, err
		}
		if i == 0 {
			was = old
		}
	}
	return bson.D{{Key: "was", Value: was}}, nil
}

func assignParameter(c *call.Call, name string, v bson.RawValue) (old any, err error) {
	if c.Node.Member != nil {
		var value any
		if err := v.Unmarshal(&value); err != nil {
			return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
		}
		return c.Cluster.Parameters().Set(name, value)
	}
	own := c.Node.Parameters[name]
	value, err := parseParameter(name, own.Value, v)
	if err != nil {
		return nil, err
	}
	old, own.Value = own.Value, value
	if name == "cursorTimeoutMillis" {
		ms := min(value.(int64), int64(math.MaxInt64/time.Millisecond))
		c.Node.Cursors.IdleTimeout = time.Duration(ms) * time.Millisecond
	}
	return old, nil
}

// parseParameter converts v to the type of a parameter: non-negative numbers, bools and strings.
// logLevel is one of the parameters that servers parse by hand.
func parseParameter(name string, current any, v bson.RawValue) (any, error) {
	n, isNumber := args.Number(v)
	text, isText := v.StringValueOK()
	bad := func() error {
		if name == "logLevel" {
			return mongoerr.New(mongoerr.BadValue, "Invalid value for logLevel: logLevel: %s", v)
		}
		return mongoerr.New(mongoerr.BadValue, "Invalid value for parameter %s: %s", name, v)
	}
	if name == "logLevel" && v.Type == bson.TypeBoolean {
		if isNumber = true; v.Boolean() {
			n = 1
		}
	}
	switch current.(type) {
	case bool:
		if !isNumber && v.Type != bson.TypeBoolean {
			return nil, bad()
		}
		return args.IsTrueOrNonzero(v), nil
	case string:
		if name == "readHedgingMode" && !slices.Contains([]string{"on", "off"}, text) || !isText {
			return nil, bad()
		}
		return text, nil
	case float64:
		if !isNumber || !(n >= 0 && n <= 1) { // also NaN
			return nil, bad()
		}
		return n, nil
	case int64:
		if !isNumber || cmp.Compare(n, 0) < 0 {
			return nil, bad()
		}
		return value.ToInteger(v), nil
	}
	minValue := 0.0
	if name == queryStatsRate {
		minValue = -1
	}
	if !isNumber || cmp.Compare(n, minValue) < 0 || n > 1<<31-1 {
		return nil, bad()
	}
	return int32(n), nil
}
