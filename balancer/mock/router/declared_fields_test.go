package router_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mongoerr"
)

// validValue is a value that a field takes, as far as its declaration says.
func validValue(f args.Field) any {
	switch {
	case f.AllowedStrings() != nil:
		return f.AllowedStrings()[0]
	case f.Kind() == args.Array && f.Subfields() != nil, f.Kind() == args.Objects:
		return bson.A{validFields(f.Subfields())}
	}
	switch f.Kind() {
	case args.String, args.Collection, args.OldCollection, args.CollectionOrOne, args.Names, args.IndexesToDrop:
		return "c"
	case args.Database, args.AnyNamespace, args.OldAnyNamespace:
		return "conf2"
	case args.Namespace, args.OldNamespace, args.NamespaceToShard:
		return "conf2.c"
	case args.Shard:
		return "shard0"
	case args.Object, args.FindObject, args.OldObject, args.ClusteredIndex, args.Update, args.QueryShape:
		return validFields(f.Subfields())
	case args.Hint:
		return d("_id", 1)
	case args.Array:
		return bson.A{}
	case args.Bool, args.SafeBool, args.OptionalBool, args.BoolOrUUID:
		return true
	case args.UUID:
		return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}
	case args.Long:
		return int64(1)
	}
	return 1
}

// validFields is a document of the fields that can't be left out.
func validFields(fields []args.Field) bson.D {
	doc := bson.D{}
	for _, f := range fields {
		if f.IsRequired() {
			doc = append(doc, bson.E{Key: f.Name(), Value: validValue(f)})
		}
	}
	return doc
}

// declaredCall is a call of a command by its declaration: the recorded one, if there is one.
func declaredCall(r *rand.Rand, cmd *commands.Command, recorded map[string][]validCall) validCall {
	if calls := recorded[cmd.Name]; len(calls) > 0 {
		return calls[r.IntN(len(calls))]
	}
	body := bson.D{{Key: cmd.Name, Value: 1}}
	for _, f := range cmd.Fields {
		switch {
		case f.Name() == cmd.Name:
			body[0].Value = validValue(f)
		case f.IsRequired():
			body = append(body, bson.E{Key: f.Name(), Value: validValue(f)})
		}
	}
	if cmd.AdminOnly {
		return validCall{"admin", body}
	}
	return validCall{"conf2", body}
}

// declaredPath leads to a declared field of a command.
type declaredPath []args.Field

func (p declaredPath) String() string {
	names := make([]string, len(p))
	for i, f := range p {
		names[i] = f.Name()
	}
	return strings.Join(names, ".")
}

// declaredPaths are the ways to all declared fields, those inside of others included.
func declaredPaths(fields []args.Field, in declaredPath) (paths []declaredPath) {
	for _, f := range fields {
		path := append(slices.Clone(in), f)
		paths = append(paths, path)
		paths = append(paths, declaredPaths(f.Subfields(), path)...)
	}
	return paths
}

// with returns a document with a value at the path: what is missing on the way is made.
func (p declaredPath) with(doc bson.D, v any) bson.D {
	doc = slices.Clone(doc)
	at := slices.IndexFunc(doc, func(e bson.E) bool { return e.Key == p[0].Name() })
	if at < 0 {
		at = len(doc)
		doc = append(doc, bson.E{Key: p[0].Name(), Value: validValue(p[0])})
	}
	if len(p) > 1 {
		switch inner := doc[at].Value.(type) {
		case bson.D:
			v = p[1:].with(inner, v)
		case bson.A:
			first := bson.D{}
			if len(inner) > 0 {
				first, _ = inner[0].(bson.D)
			}
			v = bson.A{p[1:].with(first, v)}
		default:
			v = p[1:].with(validFields(p[0].Subfields()), v)
		}
	}
	doc[at].Value = v
	return doc
}

// pairOfReleases is a cluster of 8.0 and one of 9.0 in the same state.
type pairOfReleases struct{ old, young *tester }

// statesOf are pairs that a few of the recorded commands have led to.
func statesOf(t *testing.T, newest catalog.Release, before []validCall) pairOfReleases {
	t.Helper()
	on := func(r catalog.Release) *tester {
		return mutationsOn(t, mock.Config{Parameters: map[string]any{"enableTestCommands": true}, Release: r})
	}
	pair := pairOfReleases{on(catalog.Release{}), on(newest)}
	for _, c := range before {
		pair.old.Run(c.db, c.body)
		pair.young.Run(c.db, c.body)
	}
	return pair
}

// check asks both, and returns what is wrong with what they say; a command or field that is new is asked of 9.0 only.
func (p pairOfReleases) check(t *testing.T, cmd *commands.Command, isNew bool, db string,
	body bson.D) (wrong []string) {
	t.Helper()
	is := answered(t, p.young.Run(db, body))
	was := is
	if !isNew {
		was = answered(t, p.old.Run(db, body))
	}
	for _, a := range []mutatedAnswer{was, is} {
		if own := ownFailure(a); own != "" {
			wrong = append(wrong, own)
		}
	}
	if want := declaredError(cmd, body); want == mongoerr.TypeMismatch && was.Code != int(want) {
		wrong = append(wrong, fmt.Sprintf("code %d %s, want %d", was.Code, was.Errmsg, want))
	}
	if was.Code != is.Code && !differs(cmd.Name, is) {
		wrong = append(wrong, fmt.Sprintf("%d %s, and in 9.0: %d %s", was.Code, was.Errmsg, is.Code, is.Errmsg))
	}
	return wrong
}

// Each field that the table of commands declares, at the top and inside of others, is given values of every type, on
// a state that a few valid commands have led to: no answer is a failure of the mock's own, a type that the declaration
// refuses is refused, and 8.0 and 9.0 agree.
func TestValuesOfEveryTypeForEachDeclaredField(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of commands")
	}
	recorded := validCalls(t)
	var states []validCall
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		states = append(states, recorded[name]...)
	}
	newest, err := catalog.ParseRelease("9.0")
	if err != nil {
		t.Fatal(err)
	}
	r, half := rand.New(rand.NewPCG(1, 2)), int(time.Now().Unix()%2) // of the values, the other half the next time
	for _, whole := range commands.All() {
		if whole.MockOnly || whole.MembersOnly {
			continue
		}
		cmd, before := whole.ForRelease(newest), whole.ForRelease(catalog.Release80)
		for _, path := range declaredPaths(cmd.Fields, nil) {
			isNew := !cmd.ExistsIn(catalog.Release80) ||
				!slices.ContainsFunc(before.Fields, func(f args.Field) bool { return f.Name() == path[0].Name() })
			var led []validCall
			for range r.IntN(4) {
				led = append(led, states[r.IntN(len(states))])
			}
			pair, valid := statesOf(t, newest, led), declaredCall(r, &cmd, recorded)
			for i, v := range odd() {
				if i%2 == half {
					continue
				}
				body := path.with(valid.body, v)
				for _, wrong := range pair.check(t, &cmd, isNew, valid.db, body) {
					t.Errorf("%s: %v: %s", path, body, wrong)
				}
			}
		}
	}
}
