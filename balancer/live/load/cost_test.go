package load_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
	"shardsh/balancer/live/load"
	"shardsh/balancer/mock/workload"
)

// counting counts the commands that pass.
type counting struct {
	live.CommandRunner
	sent []string
}

func (c *counting) RunCommand(ctx context.Context, db string, command bson.D) (bson.Raw, error) {
	c.sent = append(c.sent, command[0].Key)
	return c.CommandRunner.RunCommand(ctx, db, command)
}

func (c *counting) RunCursorCommand(ctx context.Context, db string, command bson.D) ([]bson.Raw, error) {
	c.sent = append(c.sent, command[0].Key)
	return c.CommandRunner.RunCursorCommand(ctx, db, command)
}

// A look costs five commands a collection, whatever the load: at 10 operations a second that is
// less than 1 % of what the cluster does in the minute of the look.
func TestALookCostsFewCommands(t *testing.T) {
	w := newWorld(t, "ranged", workload.Spec{Rate: 10, KeyDistribution: "uniform"}, 5)
	w.advance(5 * time.Minute)
	look, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.BalancerParts}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := &counting{CommandRunner: live.NewCommandRunner(w.client)}
	if _, err := load.Read(t.Context(), c, look, []string{orders}, load.Options{Clock: w.cluster.Clock()}); err != nil {
		t.Fatal(err)
	}
	if len(c.sent) > 5 {
		t.Errorf("%q", c.sent)
	}
}

// hour is what 50 sampled queries a second leave, of which a look reads 50,000: as documents of
// config.sampledQueries, in the form of a real cluster.
func hour(b *testing.B, n int) (docs []bson.Raw) {
	expires := time.Date(2026, 3, 2, 12, 10, 0, 0, time.UTC).Add(heat.SampleExpiration - time.Hour)
	for i := range n {
		filter := bson.D{{Key: "k", Value: int64(i * 7 % 12_000)}}
		if i%10 == 0 {
			filter = bson.D{{Key: "k", Value: bson.D{{Key: "$gte", Value: int64(i % 9000)}, {Key: "$lt", Value: int64(i%9000 + 2000)}}}}
		}
		doc := bson.D{{Key: "cmdName", Value: "find"}, {Key: "expireAt", Value: expires.Add(time.Duration(i) * time.Hour / time.Duration(n))},
			{Key: "cmd", Value: bson.D{{Key: "filter", Value: filter}, {Key: "collation", Value: bson.D{}}}}}
		raw, err := bson.Marshal(doc)
		if err != nil {
			b.Fatal(err)
		}
		docs = append(docs, raw)
	}
	return docs
}

// BenchmarkAnHourOfSamples reads and estimates 50,000 sampled queries; the transfer of their 10 MB
// is not in it.
func BenchmarkAnHourOfSamples(b *testing.B) {
	docs := hour(b, 50_000)
	table := tableOf(b, 1000)
	for b.Loop() {
		in := heat.Input{Namespace: orders, Table: table, Span: time.Hour}
		for _, doc := range docs {
			for _, s := range heat.ParseSampledQuery(doc) {
				in.Samples = append(in.Samples, heat.NewSample(table.Pattern(), s))
			}
		}
		m := heat.Estimate(in)
		if c := heat.MakeGrid(in, &m, 40, 60); len(c.Ranges) != 40 || m.Samples != len(docs) {
			b.Fatal(m.Samples, len(c.Ranges))
		}
	}
}

func tableOf(b *testing.B, chunks int) *catalog.RoutingTable {
	pattern, err := bson.Marshal(bson.D{{Key: "k", Value: 1}})
	if err != nil {
		b.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(pattern)
	if err != nil {
		b.Fatal(err)
	}
	build := catalog.NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
	for i := range chunks {
		bound := func(i int) any {
			switch i {
			case 0:
				return bson.MinKey{}
			case chunks:
				return bson.MaxKey{}
			}
			return int64(i * 12)
		}
		doc, err := bson.Marshal(bson.D{{Key: "min", Value: bson.D{{Key: "k", Value: bound(i)}}},
			{Key: "max", Value: bson.D{{Key: "k", Value: bound(i + 1)}}}, {Key: "shard", Value: fmt.Sprintf("s%02d", i%50)},
			{Key: "lastmod", Value: bson.Timestamp{T: 1, I: uint32(i)}}})
		if err != nil {
			b.Fatal(err)
		}
		if err := build.Add(doc); err != nil {
			b.Fatal(err)
		}
	}
	table, err := build.Table()
	if err != nil {
		b.Fatal(err)
	}
	return table
}
