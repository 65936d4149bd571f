package live

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/apply"
)

// JournalCollection is the collection of the journals of jobs, with one document for each record.
const JournalCollection = "journals"

// JobPrefix is the prefix of a job's ID in places that also accept the path of a journal.
const JobPrefix = "job:"

// JobJournal is the journal of a job. Each record has a unique number, so that only one of two
// concurrent calls can write it.
type JobJournal struct {
	ctx      context.Context
	journals *mongo.Collection
	job      string
	run      int64
	next     int64
}

var _ apply.JournalStore = (*JobJournal)(nil)

// recordDoc is the stored document of a record: its line, possibly compressed.
type recordDoc struct {
	ID struct {
		Job    string `bson:"job"`
		Run    int64  `bson:"run"`
		Number int64  `bson:"n"`
	} `bson:"_id"`
	Line string `bson:"line,omitempty"`
	Gzip []byte `bson:"gzip,omitempty"`
}

// OpenJournal returns the journal of a job and its content; nil if the journal is empty. Later records are
// written with a context that has the values of ctx but does not end with it.
func (j *Jobs) OpenJournal(ctx context.Context, job *Job) (*JobJournal, *apply.ParsedJournal, error) {
	journal := &JobJournal{ctx: context.WithoutCancel(ctx), journals: j.journals, job: job.ID, run: job.Run}
	cursor, err := j.journals.Find(ctx, journal.recordsFilter(job.Run),
		options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
	if err != nil {
		return nil, nil, fmt.Errorf("reading %s.%s: %w", LeaseDatabase, JournalCollection, ServerError(err))
	}
	lines := &lineReader{ctx: ctx, cursor: cursor}
	h, err := apply.ReadJournal(lines)
	closing, cancel := OutlivingContext(ctx, ctx, disconnectTimeout)
	defer cancel()
	if failed := errors.Join(lines.err, cursor.Close(closing)); failed != nil {
		return nil, nil, fmt.Errorf("reading %s.%s: %w", LeaseDatabase, JournalCollection, ServerError(failed))
	}
	journal.next = lines.count
	if journal.next == 0 {
		return journal, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the journal of the job %s: %w", job.ID, err)
	}
	return journal, h, nil
}

// recordsFilter selects the records of a run.
func (j *JobJournal) recordsFilter(run int64) bson.D {
	bound := func(n any) bson.D {
		return bson.D{{Key: "job", Value: j.job}, {Key: "run", Value: run}, {Key: "n", Value: n}}
	}
	return bson.D{{Key: "_id", Value: bson.D{{Key: "$gte", Value: bound(bson.MinKey{})},
		{Key: "$lt", Value: bound(bson.MaxKey{})}}}}
}

// lineReader reads the lines of a journal as a stream.
type lineReader struct {
	ctx      context.Context
	cursor   *mongo.Cursor
	buffered []byte
	count    int64
	err      error // of the cluster
}

// Read reads a part of a line.
func (r *lineReader) Read(to []byte) (int, error) {
	if len(r.buffered) == 0 {
		if !r.cursor.Next(r.ctx) {
			r.err = r.cursor.Err()
			return 0, io.EOF
		}
		var doc recordDoc
		if r.err = r.cursor.Decode(&doc); r.err != nil {
			return 0, r.err
		}
		r.buffered = []byte(doc.Line)
		if doc.Gzip != nil {
			unpacked, err := gzip.NewReader(bytes.NewReader(doc.Gzip))
			if err == nil {
				r.buffered, err = io.ReadAll(unpacked)
			}
			if err != nil {
				r.err = err
				return 0, err
			}
		}
		r.buffered = append(r.buffered, '\n')
		r.count++
	}
	n := copy(to, r.buffered)
	r.buffered = r.buffered[n:]
	return n, nil
}

// Name returns the name for an undo: shardsh apply --undo NAME.
func (j *JobJournal) Name() string { return JobPrefix + j.job }

// maxPlainRecord is the size above which records are compressed, since a plan can be large.
// maxCompressedRecord is the maximum size of a compressed record.
const (
	maxPlainRecord      = 256 << 10
	maxCompressedRecord = 15 << 20
)

// recordTimeout is the maximum time for writing a record.
const recordTimeout = 20 * time.Second

// Write appends a record, and returns when a majority has it. The error is ErrJobTaken if another call
// has written a record with the same number.
func (j *JobJournal) Write(r apply.Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var doc recordDoc
	doc.ID.Job, doc.ID.Run, doc.ID.Number = j.job, j.run, j.next
	if len(line) <= maxPlainRecord {
		doc.Line = string(line)
	} else {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err = w.Write(line)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
		if doc.Gzip = packed.Bytes(); len(doc.Gzip) > maxCompressedRecord {
			return fmt.Errorf("the plan of the job %s is too large to be kept in the cluster: name fewer collections", j.job)
		}
	}
	err = withTimeout(j.ctx, recordTimeout, func(ctx context.Context) error {
		_, err := j.journals.InsertOne(ctx, doc)
		return err
	})
	switch {
	case mongo.IsDuplicateKeyError(err):
		return ErrJobTaken
	case err != nil:
		return fmt.Errorf("writing %s.%s: %w", LeaseDatabase, JournalCollection, ServerError(err))
	}
	j.next++
	return nil
}

// RemoveEarlierRuns removes the journals of the job's earlier runs.
func (j *JobJournal) RemoveEarlierRuns(ctx context.Context) error {
	if j.run <= 1 {
		return nil
	}
	first, last := j.recordsFilter(0)[0].Value.(bson.D), j.recordsFilter(j.run - 1)[0].Value.(bson.D)
	_, err := j.journals.DeleteMany(ctx, bson.D{{Key: "_id", Value: bson.D{first[0], last[1]}}})
	return ServerError(err)
}
