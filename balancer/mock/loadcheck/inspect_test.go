//go:build unix

package loadcheck

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// settle ends all faults and waits until nothing is under way any more.
func (l *load) settle() {
	if !l.program.alive() {
		l.t.FailNow()
	}
	l.mend()
	ctx, cancel := patiently()
	defer cancel()
	admin := l.client.Database("admin")
	if err := admin.RunCommand(ctx, bson.D{{Key: "balancerStop", Value: 1}}).Err(); err != nil {
		l.fail("balancerStop: %v", err)
	}
	for {
		left, err := l.underWay(ctx)
		if err == nil && left == "" {
			return
		}
		if err != nil || ctx.Err() != nil {
			l.fail("after all faults are mended there is still %s %v", left, err)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// underWay tells what has not ended yet.
func (l *load) underWay(ctx context.Context) (string, error) {
	var status struct{ Migrations, UnfinishedMigrations int }
	err := l.client.Database("admin").RunCommand(ctx, bson.D{{Key: "mockStatus", Value: 1}}).Decode(&status)
	if err != nil {
		return "", err
	}
	reshardings, err := l.client.Database("config").Collection("reshardingOperations").CountDocuments(ctx, bson.M{})
	if err != nil {
		return "", err
	}
	if n := int64(status.Migrations+status.UnfinishedMigrations) + reshardings; n == 0 {
		return "", nil
	}
	return fmt.Sprintf("%d migrations, %d to recover, %d reshardings", status.Migrations, status.UnfinishedMigrations,
		reshardings), nil
}

// inspect compares what is there with what was acknowledged.
func (l *load) inspect() {
	ctx, cancel := patiently()
	defer cancel()
	for _, ns := range namespaceList() {
		l.inspectCollection(ctx, ns)
	}
	for _, c := range l.counters {
		c.inspect(ctx)
	}
	for _, r := range l.roamers {
		if r.unsure {
			r.find(ctx)
		}
		for name, generation := range r.ships {
			r.check(ctx, name, generation)
		}
	}
	l.inspectMetadata(ctx)
	l.inspectHeap()
}

// inspectCollection reads a collection through the router.
func (l *load) inspectCollection(ctx context.Context, ns string) {
	cursor, err := collection(l.client, ns).Find(ctx, bson.M{}, options.Find().SetProjection(bson.M{"pad": 0}))
	if err != nil {
		l.fail("%s: %v", ns, err)
		return
	}
	var docs []struct {
		ID   string `bson:"_id"`
		V, K int64
	}
	if err := cursor.All(ctx, &docs); err != nil {
		l.fail("%s: %v", ns, err)
		return
	}
	found := map[string][]version{}
	for _, doc := range docs {
		found[doc.ID] = append(found[doc.ID], version{doc.V, doc.K})
	}
	for _, w := range l.writers {
		for _, r := range w.records[ns] {
			w.complain(target{ns: ns}, r.read(found[r.id]))
			delete(found, r.id)
		}
	}
	for i := range stills {
		id := fmt.Sprintf("still-%d", i)
		if n := len(found[id]); n != 1 {
			l.fail("%s: %s is there %d times", ns, id, n)
		}
		delete(found, id)
	}
	for id, versions := range found {
		if !strings.HasPrefix(id, "counter-") || len(versions) != 1 {
			l.fail("%s: %s is there, %d times, and nobody has written it", ns, id, len(versions))
		}
	}
}

// inspectMetadata asks the mock and its mongos what is broken.
func (l *load) inspectMetadata(ctx context.Context) {
	var reply struct{ Broken []string }
	err := l.client.Database("admin").RunCommand(ctx, bson.D{{Key: "mockInvariants", Value: 1}}).Decode(&reply)
	if err != nil || len(reply.Broken) > 0 {
		l.fail("invariants: %v\n%s", err, strings.Join(reply.Broken, "\n"))
	}
	found, err := consistency(ctx, l.client)
	if err != nil || len(found) > 0 {
		l.fail("checkMetadataConsistency: %v\n%s", err, strings.Join(found, "\n"))
	}
}

// Memory may grow by this much from the second quarter of a run to its last.
const (
	growthMB    = 32
	growthShare = 0.5
)

// inspectHeap compares what was live in the second quarter with the last.
func (l *load) inspectHeap() {
	early, late := l.program.log.medians()
	if late > early+growthMB+int(growthShare*float64(early)) {
		l.fail("memory grows: %d MB live in the second quarter, %d MB in the last", early, late)
	}
}

// medians are of the heaps of the second and the last quarter of the time.
func (b *logbook) medians() (early, late int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.heaps) == 0 {
		return 0, 0
	}
	end := b.heaps[len(b.heaps)-1].at
	return median(b.heaps, end/4, end/2), median(b.heaps, end*3/4, end)
}

func median(all []heap, from, to time.Duration) int {
	var sizes []int
	for _, h := range all {
		if h.at >= from && h.at <= to {
			sizes = append(sizes, h.mb)
		}
	}
	if len(sizes) == 0 {
		return 0
	}
	slices.Sort(sizes)
	return sizes[len(sizes)/2]
}

func (b *logbook) heapText() string {
	early, late := b.medians()
	return fmt.Sprintf("live heap: %d MB in the second quarter, %d MB in the last", early, late)
}
