package mock

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mock/store"
)

// deleteRecord removes the operation's document from the catalog.
func (op *resharding) deleteRecord() {
	if docs, record, ok := op.findDocument(); ok {
		docs.Delete(record)
	}
	op.clearEntry()
}

// clearEntry removes the operation from the collection's entry.
func (op *resharding) clearEntry() {
	err := op.changeEntry(func(doc *bson.D) {
		unsetDocField(doc, "reshardingFields")
		if op.before.AllowMigrations {
			unsetDocField(doc, "allowMigrations")
		}
	})
	if err != nil {
		op.rs.logger.Warn("resharding fields not removed", "ns", op.request.Namespace, "error", err)
	}
}

// enterState sets the state of the operation in its document, in the collection's entry and in the
// change log.
func (op *resharding) enterState(next reshardState) {
	op.logTransition(next)
	if docs, record, ok := op.findDocument(); ok {
		if changed, err := bson.Marshal(op.doc()); err == nil {
			_ = docs.Update(record, changed) // cannot fail: the _id is unchanged
		}
	}
	err := op.changeEntry(func(doc *bson.D) {
		fields := bson.D{
			{Key: "uuid", Value: op.id}, {Key: "state", Value: string(next)},
			{Key: "startTime", Value: bson.NewDateTimeFromTime(op.started)},
			{Key: "provenance", Value: string(op.request.Provenance)},
		}
		if next != reshardInitializing {
			fields = append(fields, bson.E{Key: "donorFields", Value: bson.D{
				{Key: "tempNs", Value: op.temporary()}, {Key: "reshardingKey", Value: op.request.Pattern.Doc()},
				{Key: "recipientShardIds", Value: op.recipients()},
			}})
		}
		setDocField(doc, "reshardingFields", fields)
		setDocField(doc, "allowMigrations", false)
	})
	if err != nil {
		op.rs.logger.Warn("resharding fields not written", "ns", op.request.Namespace, "error", err)
	}
}

// logTransition sets the state and logs the transition in the change log.
func (op *resharding) logTransition(next reshardState) {
	last := op.state
	op.state = next
	op.rs.log.writeChange(configShard, "resharding.coordinator.transition", op.request.Namespace, bson.D{
		{Key: "newState", Value: string(next)}, {Key: "oldState", Value: string(last)},
		{Key: "namespace", Value: op.request.Namespace},
		{Key: "collectionUUID", Value: humanize.UUID(op.before.UUID.Data)},
		{Key: "reshardingUUID", Value: humanize.UUID(op.id.Data)},
	})
}

// changeEntry changes the collection's entry, unless the collection was dropped or recreated.
func (op *resharding) changeEntry(change func(*bson.D)) error {
	coll, ok, err := op.rs.config.Tracked(op.request.Namespace)
	if err != nil || !ok || !coll.UUID.Equal(op.entryUUID) {
		return err
	}
	_, err = op.rs.config.modify(configCollections, op.request.Namespace, change)
	return err
}

// temporary returns the name of the temporary collection.
func (op *resharding) temporary() string {
	return databaseOf(op.request.Namespace) + ".system.resharding." + humanize.UUID(op.before.UUID.Data)
}

// recipients returns the owners of the new chunks and the database's primary shard.
func (op *resharding) recipients() []catalog.ShardID {
	ids := []catalog.ShardID{}
	primary, _ := op.rs.config.Primary(databaseOf(op.request.Namespace))
	for _, id := range op.rs.shards.ids() {
		if id == primary || slices.ContainsFunc(op.request.Chunks, func(c catalog.Chunk) bool { return c.Shard == id }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// donorStates and recipientStates are the states of shards while the coordinator clones and applies. At
// other times they have the coordinator's state.
var (
	donorStates = map[reshardState]string{
		reshardCloning: "donating-initial-data", reshardApplying: "donating-initial-data",
	}
	recipientStates = map[reshardState]string{reshardCloning: "cloning", reshardApplying: "applying"}
)

// participantStates returns the states of the shards, and for donors in the cloning state the data to
// clone.
func (op *resharding) participantStates() (donors, recipients bson.A) {
	donors, recipients = bson.A{}, bson.A{}
	for _, id := range op.donors {
		state := bson.D{{Key: "state", Value: cmp.Or(donorStates[op.state], string(op.state))}}
		if !op.clonedAt.IsZero() {
			part := op.parts[id]
			state = append(state, bson.E{Key: "minFetchTimestamp", Value: op.clonedAt},
				bson.E{Key: "bytesToClone", Value: part.Bytes}, bson.E{Key: "documentsToClone", Value: part.Docs})
		}
		donors = append(donors, bson.D{{Key: "id", Value: string(id)}, {Key: "mutableState", Value: state}})
	}
	for _, id := range op.recipients() {
		state := cmp.Or(recipientStates[op.state], string(op.state))
		recipients = append(recipients, bson.D{{Key: "id", Value: string(id)},
			{Key: "mutableState", Value: bson.D{{Key: "state", Value: state}}}})
	}
	return donors, recipients
}

// requestOptions returns the requested options, or those that a move stands for.
func (op *resharding) requestOptions() (count, distribution bson.D) {
	if op.request.Provenance == ByReshard {
		if op.request.InitialChunks > 0 {
			count = bson.D{{Key: "numInitialChunks", Value: op.request.InitialChunks}}
		}
		return count, nil
	}
	one := op.request.Chunks[0]
	return bson.D{{Key: "numInitialChunks", Value: int64(1)}}, bson.D{{Key: "shardDistribution", Value: bson.A{bson.D{
		{Key: "min", Value: op.request.Pattern.Bound(one.Min)}, {Key: "max", Value: op.request.Pattern.Bound(one.Max)},
		{Key: "shard", Value: string(one.Shard)}}}}}
}

// cloneProgress returns the progress of the clone for each recipient.
func (op *resharding) cloneProgress() bson.D {
	if op.clonedAt.IsZero() {
		return nil
	}
	var docs int64
	for _, part := range op.parts {
		docs += part.Docs
	}
	n := int64(len(op.recipients()))
	clone := bson.D{{Key: "start", Value: bson.NewDateTimeFromTime(op.cloneEnds.Add(-op.cloneDuration))}}
	metrics := bson.D{{Key: "documentCopy", Value: clone}}
	if op.state != reshardCloning {
		end := bson.E{Key: "stop", Value: bson.NewDateTimeFromTime(op.cloneEnds)}
		metrics = bson.D{{Key: "documentCopy", Value: append(clone, end)}, {Key: "oplogApplication", Value: bson.D{end}}}
	}
	return bson.D{{Key: "approxBytesToCopy", Value: op.bytes / n}, {Key: "approxDocumentsToCopy", Value: docs / n},
		{Key: "cloneTimestamp", Value: op.clonedAt}, {Key: "metrics", Value: metrics}}
}

func (op *resharding) doc() bson.D {
	donors, recipients := op.participantStates()
	count, distribution := op.requestOptions()
	doc := bson.D{
		{Key: "_id", Value: op.id},
		{Key: "ns", Value: op.request.Namespace},
		{Key: "ui", Value: op.before.UUID},
		{Key: "tempNs", Value: op.temporary()},
		{Key: "reshardingKey", Value: op.request.Pattern.Doc()},
		{Key: "startTime", Value: bson.NewDateTimeFromTime(op.started)},
		{Key: "provenance", Value: string(op.request.Provenance)},
		{Key: "state", Value: string(op.state)},
		{Key: "donorShards", Value: donors},
		{Key: "recipientShards", Value: recipients},
	}
	doc = append(doc, count...)
	if op.request.UserID != nil {
		doc = append(doc, bson.E{Key: "userReshardingUUID", Value: *op.request.UserID})
	}
	if op.state != reshardQuiesced {
		doc = append(doc, bson.E{Key: "active", Value: true})
	}
	doc = append(doc, distribution...)
	doc = append(doc, bson.E{Key: "sourceKey", Value: op.before.Pattern.Doc()},
		bson.E{Key: "forceRedistribution", Value: op.request.Force || op.request.Provenance != ByReshard})
	return append(doc, op.cloneProgress()...)
}

func uuidText(u bson.Binary) string {
	d := u.Data
	return fmt.Sprintf("%x-%x-%x-%x-%x", d[:4], d[4:6], d[6:8], d[8:10], d[10:])
}

// ReshardingInfo is an operation in progress, for $currentOp.
type ReshardingInfo struct {
	Namespace, State    string
	Provenance          Provenance
	ID                  bson.Binary
	Key                 bson.Raw
	Elapsed, Remaining  time.Duration
	BytesToCopy, Copied int64
	Coordinator         string
}

// List returns the operations in progress.
func (rs *Reshardings) List() []ReshardingInfo {
	var list []ReshardingInfo
	for _, op := range rs.active {
		info := ReshardingInfo{
			Namespace: op.request.Namespace, State: string(op.state), Provenance: op.request.Provenance, ID: op.id,
			Key: op.request.Pattern.Doc(), Elapsed: rs.clock.Now().Sub(op.started), BytesToCopy: op.bytes,
			Coordinator: string(configShard),
		}
		switch op.state {
		case reshardCloning:
			info.Remaining = max(0, op.cloneEnds.Sub(rs.clock.Now()))
			info.Copied = op.bytes - int64(float64(op.bytes)*info.Remaining.Seconds()/max(0.001, op.cloneDuration.Seconds()))
		case reshardApplying, reshardBlocking, reshardCommitting:
			info.Copied = op.bytes
		}
		list = append(list, info)
	}
	return list
}

// Counts returns the counters of the operations with the given provenance.
func (rs *Reshardings) Counts(by Provenance) ReshardingCounts { return rs.counts[by] }

// TookPart reports whether a shard or the config server has taken part in an operation with the given
// provenance.
func (rs *Reshardings) TookPart(id catalog.ShardID, by Provenance) bool { return rs.tookPart[by][id] }

// noteParticipants records the nodes that take part in the operation.
func (op *resharding) noteParticipants(ids ...catalog.ShardID) {
	took := op.rs.tookPart[op.request.Provenance]
	if took == nil {
		took = map[catalog.ShardID]bool{}
		op.rs.tookPart[op.request.Provenance] = took
	}
	for _, id := range ids {
		took[id] = true
	}
}

// count counts the result of an operation.
func (op *resharding) count(err error) {
	n := op.rs.counts[op.request.Provenance]
	switch {
	case err == nil:
		n.Succeeded++
	case op.aborted != nil:
		n.Canceled++
	default:
		n.Failed++
	}
	op.rs.counts[op.request.Provenance] = n
}

// findDocument returns the document of an operation.
func (op *resharding) findDocument() (*store.Collection, store.RecordID, bool) {
	docs := op.rs.config.Collection(configReshardings)
	for record, raw := range docs.Scan() {
		if _, id, ok := raw.Lookup("_id").BinaryOK(); ok && bytes.Equal(id, op.id.Data) {
			return docs, record, true
		}
	}
	return docs, 0, false
}

// quiescePeriod is how long the result of a resharding with a user-defined UUID is kept
// (rules/03-commands §1.4).
const quiescePeriod = 15 * time.Minute

// finishedReshard is a completed resharding whose result is kept for repeated requests.
type finishedReshard struct {
	op  *resharding
	err error
}

// finishedResult returns the completed resharding with the plan's UUID, if its result is still kept.
func (rs *Reshardings) finishedResult(plan reshardPlan) (finishedReshard, bool) {
	kept, ok := rs.results[plan.Namespace]
	return kept, ok && plan.UserID != nil && plan.UserID.Equal(*kept.op.request.UserID)
}

// keepResult keeps the result of an operation for quiescePeriod or until the next operation of the
// collection begins. The operation's document shows the result.
func (op *resharding) keepResult(err error) {
	op.rs.results[op.request.Namespace] = finishedReshard{op, err}
	op.rs.clock.After(quiescePeriod, func() {
		if op.rs.results[op.request.Namespace].op == op {
			op.rs.dropResult(op.request.Namespace)
		}
	})
}

func (rs *Reshardings) dropResult(ns string) {
	kept, ok := rs.results[ns]
	if !ok {
		return
	}
	delete(rs.results, ns)
	if docs, record, ok := kept.op.findDocument(); ok {
		docs.Delete(record)
	}
	kept.op.logTransition(reshardDone)
}

// userUUID returns the user-defined UUID of a request, nil if there is none.
func userUUID(data []byte) *bson.Binary {
	if data == nil {
		return nil
	}
	return &bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data}
}
