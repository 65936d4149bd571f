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

// quiesceLease is the name of the lease that a process holds while it quiesces a cluster. It differs
// from the engine's lease; runs of the engine read the record below.
const quiesceLease = "quiesce"

// quiesceRecordID is the _id of the record, in the collection of leases.
const quiesceRecordID = "quiesced"

// AcquireQuiesce takes the lease to quiesce a cluster, or to restore what an earlier process has
// stopped. The error is a *HeldError while another process holds the lease.
func AcquireQuiesce(ctx context.Context, client *mongo.Client, doing string) (*Lease, error) {
	return AcquireLease(ctx, LeaseCollectionOf(client),
		LeaseOptions{Name: quiesceLease, Duration: leaseDuration, Holder: NewHolder(doing)})
}

// QuiesceRecord describes a cluster that is quiesced, with its previous state. It is written before
// anything is changed, and removed when everything is restored.
type QuiesceRecord struct {
	Host  string    `bson:"host"`
	PID   int       `bson:"pid"`
	Since time.Time `bson:"since"` // by the mongos' clock, like Until
	// Until is the end of the quiesce if no process holds the lease; zero means the end of the process.
	Until time.Time `bson:"until"`

	Mode catalog.Mode `bson:"mode"`
	// DisabledSettings are the documents of config.settings, automerge and autosplit, that had
	// enabled: false.
	DisabledSettings []string `bson:"disabled"`
	// Stops is the number of times that the balancer may have been stopped since the entry
	// BeforeStopMark of the action log. Restarting says that it may have been started again.
	Stops          int    `bson:"stops"`
	BeforeStopMark string `bson:"actions"`
	Restarting     bool   `bson:"restarting"`

	// QuietAt is the time at which the cluster was found quiet, in Term, after the entry ChangeLogMark of
	// the change log and QuietActionLogMark of the action log.
	QuietAt            time.Time `bson:"quiet"`
	Term               int64     `bson:"term"`
	ChangeLogMark      string    `bson:"changes"`
	QuietActionLogMark string    `bson:"starts"`
}

// Holder returns the process that has quiesced the cluster as the holder of a lease.
func (r *QuiesceRecord) Holder() Holder {
	return Holder{
		Host: r.Host, PID: r.PID, Doing: "quiesce (end it with shardsh quiesce --end)", Since: r.Since, Expires: r.Until,
	}
}

// IsActive reports whether the record is valid even if no process holds the lease.
func (r *QuiesceRecord) IsActive(now time.Time) bool { return now.Before(r.Until) }

// HeldError returns the error for other processes while the cluster is quiesced.
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

// Save writes the record with write concern majority.
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

// ReadRunUnderWay returns the run of shardsh's own engine that holds the cluster, as a list of one Busy;
// nil if there is none.
// A run that was killed counts until its lease expires. A run that waits because the cluster is to be
// quiet does not count.
func ReadRunUnderWay(ctx context.Context, client *mongo.Client) ([]Activity, error) {
	holder, held, err := readEngineHolder(ctx, client, bson.E{Key: "resting", Value: bson.D{{Key: "$ne", Value: true}}})
	if err != nil || !held {
		return nil, err
	}
	return []Activity{{Kind: ActivityRun, Detail: fmt.Sprintf("shardsh: %s", holder)}}, nil
}

// ReadEngineHolder returns the holder of the engine's lease, and whether there is one.
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

// balancerSwitches are the settings that balancerStop and balancerStart write in addition to the mode.
var balancerSwitches = []string{"automerge", "autosplit"}

// ReadDisabledSwitches returns the switches that are off.
func (ar *ActivityReader) ReadDisabledSwitches(ctx context.Context) ([]string, error) {
	docs, err := ar.findInConfig(ctx, bson.D{{Key: "find", Value: "settings"}})
	if err != nil {
		return nil, err
	}
	off := []string{}
	for _, doc := range docs {
		if id := text(doc, "_id"); slices.Contains(balancerSwitches, id) && catalog.IsFalse(doc.Lookup("enabled")) {
			off = append(off, id)
		}
	}
	return off, nil
}

// SetSettingCommand returns the write command for a field of a document of config.settings that no
// other command sets.
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

// CheckCanWriteSettings returns an error if the user may not write config.settings, which is required
// to stop and start the balancer. It changes nothing, because no document has this _id.
func CheckCanWriteSettings(ctx context.Context, client *mongo.Client) error {
	command := SetSettingCommand("shardsh", "checked", true)
	update := command[1].Value.(bson.A)[0].(bson.D)
	command[1].Value = bson.A{update[:2]} // no upsert
	return ServerError(client.Database("config").RunCommand(ctx, command).Err())
}
