package mock

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mock/store"
)

// deleteRecord removes the operation's document from the catalog.
func (r *resharding) deleteRecord() {
	if docs, record, ok := r.findDocument(); ok {
		docs.Delete(record)
	}
	r.clearEntry()
}

// clearEntry removes the operation from the collection's entry.
func (r *resharding) clearEntry() {
	err := r.changeEntry(func(doc *bson.D) {
		unsetDocField(doc, "reshardingFields")
		if r.before.AllowMigrations {
			unsetDocField(doc, "allowMigrations")
		}
	})
	if err != nil {
		r.rs.logger.Warn("resharding fields not removed", "ns", r.request.Namespace, "error", err)
	}
}

// enterState sets the state of the operation in its document, in the collection's entry and in the
// change log.
func (r *resharding) enterState(next reshardState) {
	r.setAndLogState(next)
	if docs, record, ok := r.findDocument(); ok {
		if changed, err := bson.Marshal(r.doc()); err == nil {
			_ = docs.Update(record, changed) // cannot fail: the _id is unchanged
		}
	}
	err := r.changeEntry(func(doc *bson.D) {
		fields := bson.D{
			{Key: "uuid", Value: r.id}, {Key: "state", Value: string(next)},
			{Key: "startTime", Value: bson.NewDateTimeFromTime(r.started)},
			{Key: "provenance", Value: string(r.request.Provenance)},
		}
		if next != reshardInitializing {
			fields = append(fields, bson.E{Key: "donorFields", Value: bson.D{
				{Key: "tempNs", Value: r.temporaryName()}, {Key: "reshardingKey", Value: r.request.Pattern.Doc()},
				{Key: "recipientShardIds", Value: r.recipients()},
			}})
		}
		setDocField(doc, "reshardingFields", fields)
		setDocField(doc, "allowMigrations", false)
	})
	if err != nil {
		r.rs.logger.Warn("resharding fields not written", "ns", r.request.Namespace, "error", err)
	}
}

// setAndLogState sets the state and logs the transition in the change log.
func (r *resharding) setAndLogState(next reshardState) {
	last := r.state
	r.state = next
	r.rs.log.writeChange(configShard, "resharding.coordinator.transition", r.request.Namespace, bson.D{
		{Key: "newState", Value: string(next)}, {Key: "oldState", Value: string(last)},
		{Key: "namespace", Value: r.request.Namespace},
		{Key: "collectionUUID", Value: humanize.UUID(r.before.UUID.Data)},
		{Key: "reshardingUUID", Value: humanize.UUID(r.id.Data)},
	})
}

// changeEntry changes the collection's entry, unless the collection was dropped or recreated.
func (r *resharding) changeEntry(change func(*bson.D)) error {
	coll, ok, err := r.rs.config.TrackedEntry(r.request.Namespace)
	if err != nil || !ok || !coll.UUID.Equal(r.entryUUID) {
		return err
	}
	_, err = r.rs.config.modify(configCollections, r.request.Namespace, change)
	return err
}

// temporaryName returns the name of the temporary collection.
func (r *resharding) temporaryName() string {
	return catalog.DatabaseOf(r.request.Namespace) + ".system.resharding." + humanize.UUID(r.before.UUID.Data)
}

// recipients returns the owners of the new chunks and the database's primary shard.
func (r *resharding) recipients() []catalog.ShardID {
	ids := []catalog.ShardID{}
	primary, _ := r.rs.config.Primary(catalog.DatabaseOf(r.request.Namespace))
	for _, id := range r.rs.shards.ids() {
		if id == primary || slices.ContainsFunc(r.request.Chunks, func(c catalog.Chunk) bool { return c.Shard == id }) {
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
func (r *resharding) participantStates() (donors, recipients bson.A) {
	donors, recipients = bson.A{}, bson.A{}
	for _, id := range r.donors {
		state := bson.D{{Key: "state", Value: cmp.Or(donorStates[r.state], string(r.state))}}
		if !r.cloneStartedAt.IsZero() {
			part := r.donorStats[id]
			state = append(state, bson.E{Key: "minFetchTimestamp", Value: r.cloneStartedAt},
				bson.E{Key: "bytesToClone", Value: part.Bytes}, bson.E{Key: "documentsToClone", Value: part.Docs})
		}
		donors = append(donors, bson.D{{Key: "id", Value: string(id)}, {Key: "mutableState", Value: state}})
	}
	for _, id := range r.recipients() {
		state := cmp.Or(recipientStates[r.state], string(r.state))
		recipients = append(recipients, bson.D{{Key: "id", Value: string(id)},
			{Key: "mutableState", Value: bson.D{{Key: "state", Value: state}}}})
	}
	return donors, recipients
}

// requestOptions returns the requested options, or those that a move stands for.
func (r *resharding) requestOptions() (count, distribution bson.D) {
	if r.request.Provenance == ProvenanceReshard {
		if r.request.InitialChunks > 0 {
			count = bson.D{{Key: "numInitialChunks", Value: r.request.InitialChunks}}
		}
		return count, nil
	}
	one := r.request.Chunks[0]
	return bson.D{{Key: "numInitialChunks", Value: int64(1)}}, bson.D{{Key: "shardDistribution", Value: bson.A{bson.D{
		{Key: "min", Value: r.request.Pattern.Bound(one.Min)}, {Key: "max", Value: r.request.Pattern.Bound(one.Max)},
		{Key: "shard", Value: string(one.Shard)}}}}}
}

// cloneProgress returns the progress of the clone for each recipient.
func (r *resharding) cloneProgress() bson.D {
	if r.cloneStartedAt.IsZero() {
		return nil
	}
	var docs int64
	for _, part := range r.donorStats {
		docs += part.Docs
	}
	n := int64(len(r.recipients()))
	clone := bson.D{{Key: "start", Value: bson.NewDateTimeFromTime(r.cloneEnds.Add(-r.cloneDuration))}}
	metrics := bson.D{{Key: "documentCopy", Value: clone}}
	if r.state != reshardCloning {
		end := bson.E{Key: "stop", Value: bson.NewDateTimeFromTime(r.cloneEnds)}
		metrics = bson.D{{Key: "documentCopy", Value: append(clone, end)}, {Key: "oplogApplication", Value: bson.D{end}}}
	}
	return bson.D{{Key: "approxBytesToCopy", Value: r.bytes / n}, {Key: "approxDocumentsToCopy", Value: docs / n},
		{Key: "cloneTimestamp", Value: r.cloneStartedAt}, {Key: "metrics", Value: metrics}}
}

func (r *resharding) doc() bson.D {
	donors, recipients := r.participantStates()
	count, distribution := r.requestOptions()
	doc := bson.D{
		{Key: "_id", Value: r.id},
		{Key: "ns", Value: r.request.Namespace},
		{Key: "ui", Value: r.before.UUID},
		{Key: "tempNs", Value: r.temporaryName()},
		{Key: "reshardingKey", Value: r.request.Pattern.Doc()},
		{Key: "startTime", Value: bson.NewDateTimeFromTime(r.started)},
		{Key: "provenance", Value: string(r.request.Provenance)},
		{Key: "state", Value: string(r.state)},
		{Key: "donorShards", Value: donors},
		{Key: "recipientShards", Value: recipients},
	}
	doc = append(doc, count...)
	if r.request.UserUUID != nil {
		doc = append(doc, bson.E{Key: "userReshardingUUID", Value: *r.request.UserUUID})
	}
	if r.state != reshardQuiesced {
		doc = append(doc, bson.E{Key: "active", Value: true})
	}
	doc = append(doc, distribution...)
	doc = append(doc, bson.E{Key: "sourceKey", Value: r.before.Pattern.Doc()},
		bson.E{Key: "forceRedistribution", Value: r.request.Force || r.request.Provenance != ProvenanceReshard})
	return append(doc, r.cloneProgress()...)
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
func (r *resharding) noteParticipants(ids ...catalog.ShardID) {
	took := r.rs.tookPart[r.request.Provenance]
	if took == nil {
		took = map[catalog.ShardID]bool{}
		r.rs.tookPart[r.request.Provenance] = took
	}
	for _, id := range ids {
		took[id] = true
	}
}

// count counts the result of an operation.
func (r *resharding) count(err error) {
	n := r.rs.counts[r.request.Provenance]
	switch {
	case err == nil:
		n.Succeeded++
	case r.abortReason != nil:
		n.Canceled++
	default:
		n.Failed++
	}
	r.rs.counts[r.request.Provenance] = n
}

// findDocument returns the document of an operation.
func (r *resharding) findDocument() (*store.Collection, store.RecordID, bool) {
	docs := r.rs.config.Collection(configReshardings)
	for record, raw := range docs.Scan() {
		if _, id, ok := raw.Lookup("_id").BinaryOK(); ok && bytes.Equal(id, r.id.Data) {
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
func (rs *Reshardings) finishedResult(plan parsedReshardRequest) (finishedReshard, bool) {
	kept, ok := rs.results[plan.Namespace]
	return kept, ok && plan.UserUUID != nil && plan.UserUUID.Equal(*kept.op.request.UserUUID)
}

// keepResult keeps the result of an operation for quiescePeriod or until the next operation of the
// collection begins. The operation's document shows the result.
func (r *resharding) keepResult(err error) {
	r.rs.results[r.request.Namespace] = finishedReshard{r, err}
	r.rs.clock.After(quiescePeriod, func() {
		if r.rs.results[r.request.Namespace].op == r {
			r.rs.dropResult(r.request.Namespace)
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
	kept.op.setAndLogState(reshardDone)
}

// userUUID returns the user-defined UUID of a request, nil if there is none.
func userUUID(data []byte) *bson.Binary {
	if data == nil {
		return nil
	}
	return &bson.Binary{Subtype: bson.TypeBinaryUUID, Data: data}
}
