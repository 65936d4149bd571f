//go:build unix

package loadcheck

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// crew is how many documents a collection of a roamer has.
const crew = 30

// roamNames are the names that the collections of a roamer may have.
func roamNames() []string { return []string{"x", "y", "z"} }

// roamer makes collections, renames and drops them, in a database of its own.
// Nobody else does that there, but others shard, move and reshard them.
type roamer struct {
	*load
	number int
	chance *rand.Rand
	// ships are the collections there are: by name, the generation of their
	// documents.
	ships map[string]int
	// unsure are names where something may have happened or not.
	unsure     bool
	before     map[string]int // the ships if it has not
	generation int
}

func newRoamer(l *load, number int) *roamer {
	return &roamer{load: l, number: number, chance: l.chance(uint64(400 + number)), ships: map[string]int{}}
}

func (r *roamer) db() *mongo.Database { return r.client.Database(fmt.Sprintf("roam%d", r.number)) }

func (r *roamer) step(ctx context.Context) {
	r.does(ctx, "looking")
	if r.unsure && !r.find(ctx) {
		return
	}
	names := roamNames()
	name, other := names[r.chance.IntN(len(names))], names[r.chance.IntN(len(names))]
	generation, there := r.ships[name]
	r.does(ctx, "at %s", name)
	switch {
	case !there:
		r.build(ctx, name)
	case r.chance.IntN(2) == 0:
		r.check(ctx, name, generation)
	case r.chance.IntN(8) == 0:
		r.try(ctx, "dropDatabase", map[string]int{}, bson.D{{Key: "dropDatabase", Value: 1}})
	case r.chance.IntN(3) == 0:
		after := without(r.ships, name)
		r.try(ctx, "drop", after, bson.D{{Key: "drop", Value: name}})
	case other != name:
		r.rename(ctx, name, other)
	}
}

func without(ships map[string]int, name string) map[string]int {
	after := map[string]int{}
	for n, generation := range ships {
		if n != name {
			after[n] = generation
		}
	}
	return after
}

// build makes a collection with its documents in one insert.
func (r *roamer) build(ctx context.Context, name string) {
	r.generation++
	var docs []any
	for i := range crew {
		docs = append(docs, bson.M{
			"_id": fmt.Sprintf("%d-%d", r.generation, i), "k": int64(i*7 - keys), "j": int64(i % 3),
			"g": r.generation, "pad": make([]byte, r.chance.IntN(9000)),
		})
	}
	_, err := r.db().Collection(name).InsertMany(ctx, docs)
	r.result("roamer: build", err)
	if err == nil {
		r.ships[name] = r.generation
		return
	}
	// Some may be there: they are taken away when that works.
	r.wreck(name)
}

// wreck notes that a name holds nobody knows what.
func (r *roamer) wreck(name string) { r.ships[name] = 0 }

// try runs a command that makes the ships what they are to be after it.
func (r *roamer) try(ctx context.Context, what string, after map[string]int, command bson.D) {
	db := r.db()
	if what == "renameCollection" {
		db = r.client.Database("admin")
	}
	err := db.RunCommand(ctx, command).Err()
	if r.result("roamer: "+what, err); err != nil {
		r.unsure, r.before = true, r.ships
	}
	r.ships = after
}

func (r *roamer) rename(ctx context.Context, name, to string) {
	_, taken := r.ships[to]
	after := without(r.ships, name)
	after[to] = r.ships[name]
	r.try(ctx, "renameCollection", after, bson.D{
		{Key: "renameCollection", Value: r.db().Name() + "." + name}, {Key: "to", Value: r.db().Name() + "." + to},
		{Key: "dropTarget", Value: taken},
	})
}

// contents counts the documents of a collection by generation.
func (r *roamer) contents(ctx context.Context, name string) (map[int]int, error) {
	cursor, err := r.db().Collection(name).Find(ctx, bson.M{})
	if err != nil {
		return nil, err
	}
	var docs []struct{ G int }
	if err := cursor.All(ctx, &docs); err != nil {
		return nil, err
	}
	found := map[int]int{}
	for _, doc := range docs {
		found[doc.G]++
	}
	return found, nil
}

// matches reports whether a collection holds what it must; fine with anything
// where nobody knows.
func matches(found map[int]int, generation int, there bool) bool {
	switch {
	case !there:
		return len(found) == 0
	case generation == 0:
		return true
	}
	return len(found) == 1 && found[generation] == crew
}

func (r *roamer) check(ctx context.Context, name string, generation int) {
	found, err := r.contents(ctx, name)
	if r.result("roamer: read", err); err == nil && !matches(found, generation, true) {
		r.fail("%s.%s holds %v, and should hold %d of generation %d", r.db().Name(), name, found, crew, generation)
		r.wreck(name)
	}
}

// find looks whether the last command has taken effect: all of it, or nothing.
func (r *roamer) find(ctx context.Context) bool {
	all := map[string]map[int]int{}
	for _, name := range roamNames() {
		found, err := r.contents(ctx, name)
		if err != nil {
			return false
		}
		all[name] = found
	}
	for _, ships := range []map[string]int{r.ships, r.before} {
		if !slices.ContainsFunc(roamNames(), func(name string) bool {
			generation, there := ships[name]
			return !matches(all[name], generation, there)
		}) {
			r.ships, r.unsure, r.before = ships, false, nil
			return true
		}
	}
	r.fail("%s holds %v: neither what was before the last command, %v, nor what was to be, %v",
		r.db().Name(), all, r.before, r.ships)
	r.unsure = false
	for _, name := range roamNames() {
		r.wreck(name)
	}
	return false
}
