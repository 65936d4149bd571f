package live

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

// JobCollection is the collection of jobs, in the same database as the leases.
const JobCollection = "jobs"

// JobDoingPrefix is the prefix of Holder.Doing for processes that work on a job.
const JobDoingPrefix = "job "

// JobState is the state of a job.
type JobState string

// These are the states. The next call tries a blocked or failed job again.
const (
	JobNone      JobState = "none" // the job does not exist
	JobPending   JobState = "pending"
	JobRunning   JobState = "running"
	JobWaiting   JobState = "waiting"
	JobBlocked   JobState = "blocked"
	JobFailed    JobState = "failed"
	JobDone      JobState = "done"
	JobCancelled JobState = "cancelled"
)

// Ended reports whether the job is finished or cancelled.
func (s JobState) Ended() bool { return s == JobDone || s == JobCancelled }

// JobProgress is the progress of a job. Totals are those of the plan.
type JobProgress struct {
	Steps     int   `bson:"steps" json:"steps"`
	StepsDone int   `bson:"stepsDone" json:"stepsDone"`
	Moves     int   `bson:"moves" json:"moves"`
	MovesDone int   `bson:"movesDone" json:"movesDone"`
	Bytes     int64 `bson:"bytes" json:"bytes"`
	BytesDone int64 `bson:"bytesDone" json:"bytesDone"`
	// Percent is the percentage of the bytes, or of the steps if no data move.
	Percent float64 `bson:"percent" json:"percent"`
	// ETASeconds is the estimated number of seconds until the end, at the pace so far; 0 means unknown.
	ETASeconds int64 `bson:"etaSeconds" json:"etaSeconds,omitzero"`
}

// JobBlock is an obstacle of a job, with a remedy.
type JobBlock struct {
	What   string `bson:"what" json:"what"`
	Text   string `bson:"text" json:"text"`
	Remedy string `bson:"remedy" json:"remedy,omitzero"`
}

// Job is the record of work that several processes execute one after the other. Its state is neither in
// memory nor in local files.
type Job struct {
	ID   string `bson:"_id"` // "drain:shard3"
	Verb string `bson:"verb"`
	// Options is a JSON object.
	Options string `bson:"options"`
	// Run is incremented each time that the job is started again. Calls is incremented with each call
	// that works on the job.
	Run   int64 `bson:"run"`
	Calls int64 `bson:"calls"`
	// Cancel says that no call may start new work.
	Cancel    bool        `bson:"cancel"`
	State     JobState    `bson:"state"`
	Progress  JobProgress `bson:"progress"`
	BlockedBy []JobBlock  `bson:"blockedBy"`
	Error     string      `bson:"error"`
	Host      string      `bson:"host"` // of the last call
	// Times are cluster times. Began is the time at which the first step may have begun.
	Created time.Time `bson:"created"`
	Began   time.Time `bson:"began"`
	Updated time.Time `bson:"updated"`
	// PreviousUpdated is the value that Updated had at the end of the previous call.
	PreviousUpdated time.Time `bson:"before"`
	// Worked is the total working time up to Updated.
	Worked time.Duration `bson:"worked"`
}

// Jobs provides access to the jobs of a cluster.
type Jobs struct {
	jobs, journals *mongo.Collection
}

// NewJobs returns the jobs of a client's cluster.
func NewJobs(client *mongo.Client) *Jobs {
	return &Jobs{jobs: withMajority(client, JobCollection), journals: withMajority(client, JournalCollection)}
}

// Find returns a job; nil if there is none.
func (j *Jobs) Find(ctx context.Context, id string) (*Job, error) {
	return readByID[Job](ctx, j.jobs, id)
}

// FindOrCreate returns the job with an ID. It creates the job if it does not exist.
func (j *Jobs) FindOrCreate(ctx context.Context, id, verb, opts string) (*Job, error) {
	fresh := bson.D{
		{Key: "_id", Value: "$_id"}, {Key: "verb", Value: literal(verb)}, {Key: "options", Value: literal(opts)},
		{Key: "run", Value: int64(1)}, {Key: "calls", Value: int64(0)}, {Key: "cancel", Value: literal(false)},
		{Key: "state", Value: literal(JobPending)}, {Key: "created", Value: clusterTime},
		{Key: "updated", Value: clusterTime},
	}
	there := bson.D{{Key: "$eq", Value: bson.A{bson.D{{Key: "$type", Value: "$verb"}}, "string"}}}
	return j.update(ctx, bson.D{{Key: "_id", Value: id}}, true,
		bson.D{{Key: "$replaceWith", Value: bson.D{{Key: "$cond", Value: bson.A{there, "$$ROOT", fresh}}}}})
}

// SetOptions changes the options of a job. A job that has ended starts again.
func (j *Jobs) SetOptions(ctx context.Context, job *Job, opts string) (*Job, error) {
	set := bson.D{{Key: "options", Value: literal(opts)}, {Key: "updated", Value: clusterTime},
		{Key: "calls", Value: bson.D{{Key: "$add", Value: bson.A{"$calls", int64(1)}}}}}
	if job.State.Ended() || job.Cancel {
		set = append(set, bson.E{Key: "run", Value: job.Run + 1}, bson.E{Key: "cancel", Value: literal(false)},
			bson.E{Key: "state", Value: literal(JobPending)}, bson.E{Key: "created", Value: clusterTime},
			bson.E{Key: "progress", Value: literal(JobProgress{})}, bson.E{Key: "blockedBy", Value: literal(bson.A{})},
			bson.E{Key: "began", Value: literal(nil)}, bson.E{Key: "error", Value: literal("")},
			bson.E{Key: "worked", Value: int64(0)})
	}
	return j.update(ctx, job.filter(), false, bson.D{{Key: "$set", Value: set}})
}

// BeginCall counts a call, and prevents writes by earlier calls.
func (j *Jobs) BeginCall(ctx context.Context, job *Job, host string) (*Job, error) {
	return j.update(ctx, bson.D{{Key: "_id", Value: job.ID}, {Key: "run", Value: job.Run}}, false,
		bson.D{{Key: "$set", Value: bson.D{
			{Key: "calls", Value: bson.D{{Key: "$add", Value: bson.A{"$calls", int64(1)}}}},
			{Key: "host", Value: literal(host)}, {Key: "before", Value: "$updated"}, {Key: "updated", Value: clusterTime},
			{Key: "began", Value: ifNull("$began", clusterTime)},
		}}})
}

// Save writes the progress of a job. The error is ErrJobTaken if another call has begun since. Save
// returns the stored job, which may have been cancelled.
func (j *Jobs) Save(ctx context.Context, job *Job) (*Job, error) {
	blocked := job.BlockedBy
	if blocked == nil {
		blocked = []JobBlock{}
	}
	return j.update(ctx, job.filter(), false, bson.D{{Key: "$set", Value: bson.D{
		{Key: "state", Value: literal(job.State)}, {Key: "progress", Value: literal(job.Progress)},
		{Key: "blockedBy", Value: literal(blocked)}, {Key: "error", Value: literal(job.Error)},
		{Key: "worked", Value: literal(job.Worked)}, {Key: "updated", Value: clusterTime},
	}}})
}

// Cancel marks the job so that no call starts further work.
func (j *Jobs) Cancel(ctx context.Context, job *Job) (*Job, error) {
	return j.update(ctx, bson.D{{Key: "_id", Value: job.ID}, {Key: "run", Value: job.Run}}, false,
		bson.D{{Key: "$set", Value: bson.D{{Key: "cancel", Value: literal(true)}, {Key: "updated", Value: clusterTime}}}})
}

// ErrJobTaken says that another call works on a job.
var ErrJobTaken = errors.New("another call has taken over the job")

// filter selects the job if no other call has begun.
func (job *Job) filter() bson.D {
	return bson.D{{Key: "_id", Value: job.ID}, {Key: "run", Value: job.Run}, {Key: "calls", Value: job.Calls}}
}

func (j *Jobs) update(ctx context.Context, which bson.D, upsert bool, stage bson.D) (*Job, error) {
	var job Job
	err := j.jobs.FindOneAndUpdate(ctx, which, mongo.Pipeline{stage},
		options.FindOneAndUpdate().SetUpsert(upsert).SetReturnDocument(options.After)).Decode(&job)
	switch {
	case errors.Is(err, mongo.ErrNoDocuments):
		return nil, ErrJobTaken
	case err != nil:
		return nil, fmt.Errorf("writing %s.%s: %w", LeaseDatabase, JobCollection, ServerError(err))
	}
	return &job, nil
}

// literal returns an expression for a value.
func literal(value any) bson.D { return bson.D{{Key: "$literal", Value: value}} }
