package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
)

// quiesceLease is the name of the lease that a process has while it quiesces a cluster. It
// is not the engine's: runs of the engine look for the record below.
const quiesceLease = "quiesce"

// quiesceRecordID is the _id of the record, beside the leases.
const quiesceRecordID = "quiesced"

// AcquireQuiesce takes the lease to quiesce a cluster, or to give back what a process
// before has stopped. The error is a *HeldError while another process holds it.
func AcquireQuiesce(ctx context.Context, client *mongo.Client, doing string) (*Lease, error) {
	return AcquireLease(ctx, LeaseCollectionOf(client),
		LeaseOptions{Name: quiesceLease, Duration: leaseDuration, Holder: NewHolder(doing)})
}

// QuiesceRecord is the record of a cluster that is quiesced, with what was before. It is
// written before anything is changed, and removed when all is given back.
type QuiesceRecord struct {
	Host  string    `bson:"host"`
	PID   int       `bson:"pid"`
	Since time.Time `bson:"since"` // the mongos' clock, as Until
	// Until is when it ends by itself without a process that holds the lease; zero is when
	// that process ends.
	Until time.Time `bson:"until"`

	Mode catalog.Mode `bson:"mode"`
	// Disabled are the documents of config.settings that said enabled: false.
	Disabled []string `bson:"disabled"`
	// Stops is how often the balancer may have been stopped, after the entry Actions of
	// the action log; Restarting says that it may have been started again.
	Stops         int    `bson:"stops"`
	ActionLogMark string `bson:"actions"`
	Restarting    bool   `bson:"restarting"`

	// Quiet is when the cluster was found quiet, in a term, after the entry Changes of the
	// change log and Starts of the action log.
	Quiet         time.Time `bson:"quiet"`
	Term          int64     `bson:"term"`
	ChangeLogMark string    `bson:"changes"`
	StartsMark    string    `bson:"starts"`
}

// Holder returns who has quiesced the cluster, as the holder of a lease.
func (r *QuiesceRecord) Holder() Holder {
	return Holder{
		Host: r.Host, PID: r.PID, Doing: "quiesce (end it with shardsh quiesce --end)", Since: r.Since, Expires: r.Until,
	}
}

// IsActive reports whether the record is valid even without a process that holds the lease.
func (r *QuiesceRecord) IsActive(now time.Time) bool { return now.Before(r.Until) }

// HeldError returns the error for others while it lasts.
func (r *QuiesceRecord) HeldError() *HeldError { return &HeldError{quiesceLease, r.Holder()} }

// ReadQuiesceRecord returns the record; nil if there is none.
func ReadQuiesceRecord(ctx context.Context, client *mongo.Client) (*QuiesceRecord, error) {
	return readByID[QuiesceRecord](ctx, LeaseCollectionOf(client), quiesceRecordID)
}

// readByID reads a document of the lease's database; nil if there is none.
func readByID[T any](ctx context.Context, from *mongo.Collection, id string) (*T, error) {
	doc := new(T)
	err := from.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(doc)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s.%s: %w", LeaseDatabase, from.Name(), ServerError(err))
	}
	return doc, nil
}

// Save writes the record, with a majority.
func (r *QuiesceRecord) Save(ctx context.Context, client *mongo.Client) error {
	_, err := LeaseCollectionOf(client).ReplaceOne(ctx, bson.D{{Key: "_id", Value: quiesceRecordID}}, r,
		options.Replace().SetUpsert(true))
	if err != nil {
		return fmt.Errorf("writing %s.%s: %w", LeaseDatabase, LeaseCollection, ServerError(err))
	}
	return nil
}

// RemoveQuiesceRecord removes the record.
func RemoveQuiesceRecord(ctx context.Context, client *mongo.Client) error {
	_, err := LeaseCollectionOf(client).DeleteOne(ctx, bson.D{{Key: "_id", Value: quiesceRecordID}})
	return ServerError(err)
}

// ReadRunUnderWay returns the run of shardsh's own engine that holds the cluster; nil if there
// is none. A run that was killed counts until its lease expires, one that waits because the
// cluster is to be quiet does not.
func ReadRunUnderWay(ctx context.Context, client *mongo.Client) ([]Busy, error) {
	holder, held, err := readEngineHolder(ctx, client, bson.E{Key: "resting", Value: bson.D{{Key: "$ne", Value: true}}})
	if err != nil || !held {
		return nil, err
	}
	return []Busy{{Kind: BusyRun, Detail: fmt.Sprintf("shardsh: %s", holder)}}, nil
}

// ReadEngineHolder returns who holds the lease of the engine, and whether anybody does.
func ReadEngineHolder(ctx context.Context, client *mongo.Client) (Holder, bool, error) {
	return readEngineHolder(ctx, client)
}

func readEngineHolder(ctx context.Context, client *mongo.Client, also ...bson.E) (Holder, bool, error) {
	var doc leaseDoc
	err := LeaseCollectionOf(client).FindOne(ctx, append(activeFilter(engineLease), also...)).Decode(&doc)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return Holder{}, false, nil
	case err != nil:
		return Holder{}, false, ServerError(err)
	}
	return doc.holder(), true, nil
}

// balancerSwitches are the settings that balancerStop and balancerStart write besides the
// mode.
var balancerSwitches = []string{"automerge", "autosplit"}

// ReadDisabledSwitches returns those that are off.
func (q *ActivityReader) ReadDisabledSwitches(ctx context.Context) ([]string, error) {
	docs, err := q.findInConfig(ctx, bson.D{{Key: "find", Value: "settings"}})
	if err != nil {
		return nil, err
	}
	off := []string{}
	for _, doc := range docs {
		if id := text(doc, "_id"); slices.Contains(balancerSwitches, id) && isFalse(doc.Lookup("enabled")) {
			off = append(off, id)
		}
	}
	return off, nil
}

// SetSettingCommand returns the command that writes a field of a document of config.settings, for
// which there is no command.
func SetSettingCommand(id, field string, value any) bson.D {
	return bson.D{
		{Key: "update", Value: "settings"},
		{Key: "updates", Value: bson.A{bson.D{
			{Key: "q", Value: bson.D{{Key: "_id", Value: id}}},
			{Key: "u", Value: bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}}},
			{Key: "upsert", Value: true},
		}}},
		{Key: "writeConcern", Value: bson.D{{Key: "w", Value: "majority"}}},
	}
}

// CheckCanWriteSettings returns an error if the user may not write config.settings, as stopping and
// starting the balancer needs. It changes nothing: no document has this _id.
func CheckCanWriteSettings(ctx context.Context, client *mongo.Client) error {
	command := SetSettingCommand("shardsh", "checked", true)
	update := command[1].Value.(bson.A)[0].(bson.D)
	command[1].Value = bson.A{update[:2]} // no upsert
	return ServerError(client.Database("config").RunCommand(ctx, command).Err())
}
