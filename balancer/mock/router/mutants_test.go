package router_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mongoerr"
)

// validCall is a recorded command that a real mongos has carried out.
type validCall struct {
	db   string
	body bson.D
}

// drawn draws a call: each command as often as the others.
func drawn(t *rapid.T, calls map[string][]validCall, names []string, label string) validCall {
	return rapid.SampledFrom(calls[rapid.SampledFrom(names).Draw(t, label)]).Draw(t, label)
}

// validCalls are the calls by command.
func validCalls(t *testing.T) map[string][]validCall {
	t.Helper()
	calls := map[string][]validCall{}
	add := func(db string, body bson.D) { calls[body[0].Key] = append(calls[body[0].Key], validCall{db, body}) }
	for c := range recordedLines[mutatedCommand](t, "23-mutations.jsonl.gz") {
		if c.Answer.OK == 1 {
			add(c.DB, c.Body)
		}
	}
	for c := range recordedLines[recordedCall](t, "16-commands.jsonl.gz") {
		if c.Answer.OK == 1 {
			add(c.DB, c.Body)
		}
	}
	return calls
}

// typesOf are the types that fields of a kind take, by the servers' declarations: of others the error is 14.
var typesOf = map[args.Kind][]bson.Type{
	args.String:   {bson.TypeString},
	args.Object:   {bson.TypeEmbeddedDocument},
	args.Array:    {bson.TypeArray},
	args.Bool:     {bson.TypeBoolean},
	args.SafeBool: {bson.TypeBoolean, bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128},
	args.SafeInt:  {bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeDecimal128},
	args.Int:      {bson.TypeInt32},
	args.Long:     {bson.TypeInt64},
	args.UUID:     {bson.TypeBinary},
}

// odd are values of every type that clients send.
func odd() []any {
	return []any{true, "x", "", bson.D{}, bson.D{{Key: "a", Value: 1}}, bson.A{}, bson.A{1}, nil, int32(-1), int64(1) << 40, 1.5,
		bson.ObjectID{1}, bson.MinKey{}, bson.Regex{Pattern: "x"}}
}

// mutant is a valid command of which one thing was changed at the top, and the code that every server answers by
// the command's declaration; zero where that says nothing.
type mutant struct {
	what string
	body bson.D
	code mongoerr.Code
}

// mutate draws a change of a command.
func mutate(t *rapid.T, cmd *commands.Command, body bson.D) mutant {
	body = slices.Clone(body)
	at := rapid.IntRange(0, len(body)-1).Draw(t, "at")
	declared := func(name string) (args.Field, bool) {
		i := slices.IndexFunc(cmd.Fields, func(f args.Field) bool { return f.Name() == name })
		if i < 0 {
			return args.Field{}, false
		}
		return cmd.Fields[i], true
	}
	switch how := rapid.IntRange(0, 5).Draw(t, "how"); {
	case how == 5 && len(cmd.Fields) > 0:
		path := rapid.SampledFrom(declaredPaths(args.FieldsFor(catalog.Release80, cmd.Fields), nil)).Draw(t, "field")
		return mutant{"a declared field", path.with(body, rapid.SampledFrom(odd()).Draw(t, "value")), 0}
	case how == 0:
		body = append(body, bson.E{Key: "frobnicate", Value: 1})
		if cmd.Strict {
			return mutant{"an unknown field", body, mongoerr.IDLUnknownField}
		}
		return mutant{"an unknown field", body, 0}
	case how == 1 && at > 0:
		name := body[at].Key
		body = slices.Delete(body, at, at+1)
		return mutant{"without " + name, body, declaredError(cmd, body)}
	case how >= 3:
		deep(t, body, at)
		return mutant{"something deeper", body, 0}
	}
	v := rapid.SampledFrom(odd()).Draw(t, "value")
	body[at].Value = v
	what := fmt.Sprintf("%s: %v", body[at].Key, v)
	f, is := declared(body[at].Key)
	kind, _, _ := bson.MarshalValue(v)
	if types := typesOf[f.Kind()]; is && at > 0 && types != nil && v != nil && !slices.Contains(types, kind) {
		return mutant{what, body, mongoerr.TypeMismatch}
	}
	return mutant{what, body, 0}
}

// declaredError is the code that a command's table of fields has for it; 0 where it takes it.
func declaredError(cmd *commands.Command, body bson.D) mongoerr.Code {
	raw, err := bson.Marshal(body)
	if err == nil {
		_, err = cmd.Parse(raw)
	}
	code, _ := mongoerr.CodeOf(err)
	return code
}

// deep changes something inside a field.
func deep(t *rapid.T, body bson.D, at int) {
	switch v := body[at].Value.(type) {
	case bson.D:
		if len(v) == 0 {
			body[at].Value = bson.D{{Key: "frobnicate", Value: 1}}
			return
		}
		inner := slices.Clone(v)
		deeper(t, inner, rapid.IntRange(0, len(inner)-1).Draw(t, "inner"))
		body[at].Value = inner
	case bson.A:
		if len(v) == 0 {
			body[at].Value = bson.A{nil}
			return
		}
		i := rapid.IntRange(0, len(v)-1).Draw(t, "item")
		one := bson.D{{Value: v[i]}}
		deeper(t, one, 0)
		inner := slices.Clone(v)
		inner[i] = one[0].Value
		body[at].Value = inner
	default:
		body[at].Value = rapid.SampledFrom(odd()).Draw(t, "value")
	}
}

// deeper changes a field or something inside.
func deeper(t *rapid.T, body bson.D, at int) {
	if rapid.Bool().Draw(t, "whole") {
		body[at].Value = rapid.SampledFrom(odd()).Draw(t, "value")
		return
	}
	deep(t, body, at)
}

// Of valid commands with one thing changed, on states that other valid commands have led to: no answer is a failure
// of the mock's own, what the declaration says is what is answered, and two releases answer with one code.
func TestMutantsOfValidCommands(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of commands")
	}
	calls := validCalls(t)
	names := slices.Sorted(maps.Keys(calls))
	table := commands.ByName()
	newest, err := catalog.ParseRelease("9.0")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		old, young := beforeMutations(t), mutationsOn(t, mock.Config{Release: newest})
		for range rapid.IntRange(0, 6).Draw(rt, "before") {
			before := drawn(rt, calls, names, "before")
			old.Run(before.db, before.body)
			young.Run(before.db, before.body)
		}
		for range 50 {
			valid := drawn(rt, calls, names, "valid")
			cmd := table[valid.body[0].Key]
			if cmd == nil {
				continue
			}
			m := mutate(rt, cmd, valid.body)
			was, is := answered(t, old.Run(valid.db, m.body)), answered(t, young.Run(valid.db, m.body))
			for _, a := range []mutatedAnswer{was, is} {
				if own := ownFailure(a); own != "" {
					rt.Errorf("%v (%s): %s", m.body, m.what, own)
				}
			}
			if m.code != 0 && was.Code != int(m.code) {
				rt.Errorf("%v (%s): code %d %s, want %d", m.body, m.what, was.Code, was.Errmsg, m.code)
			}
			if was.Code != is.Code && !differs(cmd.Name, is) {
				rt.Errorf("%v (%s): %d %s\nand in 9.0: %d %s", m.body, m.what, was.Code, was.Errmsg, is.Code, is.Errmsg)
			}
		}
	})
}

// ownFailure is what is wrong with an answer that no server gives.
func ownFailure(a mutatedAnswer) string {
	for _, code := range []int{a.Code, a.WriteError, a.FirstError} {
		if code == int(mongoerr.InternalError) {
			return "an internal error: " + a.Errmsg
		}
	}
	if strings.Contains(a.Errmsg, "inside the mock") || strings.Contains(a.Errmsg, "%!") {
		return a.Errmsg
	}
	return ""
}

// differs reports whether 9.0 answers a command otherwise: it checks the bounds of moves before a shard does
// (docs/releases.md).
func differs(name string, is mutatedAnswer) bool {
	return name == "moveRange" && (is.Code == 72 || is.Code == 11089203)
}
