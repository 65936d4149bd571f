package applying

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// Draining is what belongs to the emptying of a shard besides its ranges.
type Draining struct {
	Turn  *Turn
	Shard catalog.ShardID
	// Remove takes the shard out of the cluster once it is empty. Only then it is
	// marked as draining.
	Remove bool
	// MovePrimaries moves the databases whose primary the shard is, and the
	// unsharded collections on it.
	MovePrimaries bool
	Clock         apply.Clock
	// Tell is called with a line for each thing done.
	Tell func(string)
}

// Start marks the shard as draining, where it is to be removed: from then on
// nothing new comes to it.
func (d Draining) Start(ctx context.Context) error {
	if !d.Remove {
		return nil
	}
	state, found, err := d.Turn.turn.Drain(ctx, d.Shard)
	switch {
	case err != nil:
		return err
	case !found:
		return fmt.Errorf("the cluster has no shard %s any more", d.Shard)
	case state.State != diagnosis.DrainOff:
		return nil // once more would remove it before 8.3, when it is empty
	}
	_, err = d.Turn.turn.Admin(ctx, live.StartDrainCommand(d.Turn.turn.Release(), d.Shard))
	if err == nil {
		d.Tell(fmt.Sprintf("Shard %s is marked as draining.", d.Shard))
	}
	return err
}

// Finish moves what is left on a shard without ranges, as far as it may, and
// removes the shard. The error says what is yours to move.
func (d Draining) Finish(ctx context.Context) error {
	left, others, err := d.Turn.left(ctx, d.Shard)
	if err != nil {
		return err
	}
	move := left
	if !d.MovePrimaries {
		move, left = ofLeases(left)
	}
	if d.MovePrimaries || d.Remove {
		if err := d.movePrimaries(ctx, move, others); err != nil {
			return err
		}
	}
	if !d.MovePrimaries && len(left.Commands()) > 0 {
		return fmt.Errorf("%s; --move-primaries (movePrimaries: true) has it done", left.Remainder().Text())
	}
	if !d.Remove {
		return nil
	}
	if err := d.Start(ctx); err != nil { // somebody may have stopped it
		return err
	}
	return d.remove(ctx)
}

// ofLeases tells what is left of our own, which nobody has to be asked about, from the
// rest.
func ofLeases(left diagnosis.Drain) (ours, rest diagnosis.Drain) {
	ours, rest = diagnosis.Drain{Shard: left.Shard}, left
	rest.Databases, rest.Collections = nil, nil
	for _, name := range left.Databases {
		list := &rest.Databases
		if name == live.LeaseDatabase {
			list = &ours.Databases
		}
		*list = append(*list, name)
	}
	for _, ns := range left.Collections {
		list := &rest.Collections
		if ns == live.LeaseDatabase+"."+live.LeaseCollection {
			list = &ours.Collections
		}
		*list = append(*list, ns)
	}
	return ours, rest
}

// movePrimaries moves each to the shard that has fewest.
func (d Draining) movePrimaries(ctx context.Context, left diagnosis.Drain, others Takers) error {
	move := func(kind, name string, command func(to string) bson.D) error {
		to := others.Next()
		if to == "" {
			return errors.New("there is no other shard that could take databases: all are draining")
		}
		if _, err := d.Turn.turn.Admin(ctx, command(string(to))); err != nil {
			return fmt.Errorf("moving %s %s to %s: %w", kind, name, to, err)
		}
		d.Tell(fmt.Sprintf("The %s %s is on %s now.", kind, name, to))
		return nil
	}
	for _, ns := range left.Collections {
		if err := move("collection", ns, func(to string) bson.D {
			return bson.D{{Key: "moveCollection", Value: ns}, {Key: "toShard", Value: to}}
		}); err != nil {
			return err
		}
	}
	for _, name := range left.Databases {
		if err := move("database", name, func(to string) bson.D {
			return bson.D{{Key: "movePrimary", Value: name}, {Key: "to", Value: to}}
		}); err != nil {
			return err
		}
	}
	return nil
}

// removalPause is how long to wait before a shard is looked at again that is not
// ready to go.
const removalPause = 2 * time.Second

// remove takes the shard out. Config servers that leave must have deleted what they
// gave away, which is waited for. A chunk whose migration had begun before the shard
// was marked as draining is an *apply.ChangedError.
func (d Draining) remove(ctx context.Context) error {
	t := d.Turn.turn
	told := false
	for {
		state, found, err := t.Drain(ctx, d.Shard)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if state.Chunks > 0 {
			return &apply.ChangedError{What: state.String()}
		}
		why := string(state.State)
		if state.Done() {
			reply, err := t.Admin(ctx, live.CommitDrainCommand(t.Release(), d.Shard))
			if err != nil {
				return err
			}
			if text, _ := reply.Lookup("state").StringValueOK(); text == "completed" ||
				t.Release().AtLeast(catalog.Release83) {
				break
			}
			why = reply.String()
		}
		if !told {
			told = true
			d.Tell(fmt.Sprintf("Shard %s can't go yet (%s): waiting.", d.Shard, why))
		}
		if err := d.Clock.Sleep(ctx, removalPause); err != nil {
			return context.Cause(ctx)
		}
	}
	d.Tell(fmt.Sprintf("Shard %s is removed.", d.Shard))
	return nil
}

// WasRemoved reports whether the cluster's log tells that a shard was removed.
func WasRemoved(ctx context.Context, client *mongo.Client, id catalog.ShardID) bool {
	entry := bson.D{{Key: "what", Value: "removeShard"}, {Key: "details.shard", Value: string(id)}}
	return client.Database("config").Collection("changelog").FindOne(ctx, entry).Err() == nil
}

// left reads what is on a shard, and how many databases the shards have that stay.
func (t *Turn) left(ctx context.Context, id catalog.ShardID) (
	left diagnosis.Drain, others Takers, err error) {
	s, err := live.NewReader(t.client, live.ReaderOptions{Parts: live.Current}).Read(ctx)
	if err != nil {
		return left, nil, err
	}
	s = apply.Resumed(s, t.turn.Leftover())
	others = TakersOf(s, id)
	shard, _ := s.Shard(id)
	shard.Draining, shard.Reported = true, nil // as if it had to be empty
	return diagnosis.DrainOf(s, shard), others, nil
}
