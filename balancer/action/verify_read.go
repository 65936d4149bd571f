package action

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/policy"
	"shardsh/balancer/safefile"
	"shardsh/balancer/verify"
)

const (
	// readStepBytes is the number of bytes between two checks of limits and windows.
	readStepBytes = 16 << 20
	// saveInterval is the interval at which the progress is saved.
	saveInterval = 10 * time.Second
	// maxCursorAge is the age at which a cursor is opened again: servers close old cursors.
	// maxCursorIdle is the same for cursors that were not used.
	maxCursorAge  = 5 * time.Minute
	maxCursorIdle = time.Minute
)

// VerifyProgress is the progress of a read.
type VerifyProgress struct {
	Namespace string
	// Docs and Bytes are the amounts that this run has read in all collections. TotalDocs and TotalBytes are
	// the approximate totals.
	Docs, Bytes, TotalDocs, TotalBytes int64
}

func (VerifyProgress) isEvent() {}

// verifyRun is a run of Verify.
type verifyRun struct {
	Verify
	cluster  Cluster
	report   *serialReporter
	gate     *pace.Gate
	baseline *verify.File // nil without BaselineFile
	file     verify.File  // the digest so far
	facts    map[string]documents.CollectionFacts

	docsExpected, bytesExpected int64 // approximate totals of all collections
	docsRead, bytesRead         int64
	savedAt                     time.Time
	hasProgressFile             bool // a file with progress exists
	rate                        readRate
	readRetry                   readRetry

	listing          *documentList
	namedDifferences int // number of differing documents that are named
}

// resume reads the progress of an earlier run.
func (v *verifyRun) resume() error {
	path := v.progressFile()
	if path == "" || v.Restart || !fileExists(path) {
		return nil
	}
	text, err := safefile.Read(path, verify.MaxFileBytes, time.Minute)
	if err != nil {
		return err
	}
	f, _, err := verify.Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w; remove it to start over", path, err)
	}
	others := slices.ContainsFunc(f.Collections, func(c verify.Collection) bool {
		return !slices.Contains(v.Namespaces, c.Namespace)
	})
	if others || f.AgainstChecksum != v.file.AgainstChecksum {
		return refuse("%s is the progress of another run: remove it, or use {restart}", path)
	}
	v.file, v.hasProgressFile = *f, true
	return nil
}

// saveProgress writes the progress.
func (v *verifyRun) saveProgress() error {
	path := v.progressFile()
	if path == "" || len(v.file.Collections) == 0 {
		return nil
	}
	v.savedAt = v.cluster.Clock.Now()
	if err := v.listing.flush(); err != nil {
		return err
	}
	text, _, err := v.file.Marshal()
	if err == nil {
		err = safefile.Replace(path, textWriter(text))
	}
	if err != nil {
		return fmt.Errorf("saving the progress: %w", err)
	}
	v.hasProgressFile = true
	return nil
}

func textWriter(text []byte) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	}
}

// digestWithRanges returns the digest whose ranges are reused for a collection; nil to choose new ones.
func (v *verifyRun) digestWithRanges(ns string) *verify.Digest {
	if v.baseline == nil {
		return nil
	}
	return &v.baseline.Collection(ns).Digest
}

// readCollection reads a collection to its end, from the position that an earlier run has reached.
func (v *verifyRun) readCollection(ctx context.Context, ns string) error {
	c := v.file.Collection(ns)
	if c != nil && c.Finished {
		v.subtractDone(c.Total())
		return nil
	}
	if c != nil && c.UUID != v.facts[ns].UUID {
		return fmt.Errorf("%s is not the collection for which %s was begun: remove that file", ns,
			v.progressFile())
	}
	scan := verify.NewScan()
	if v.baseline != nil {
		scan = verify.NewScanLike(*v.digestWithRanges(ns))
	}
	if c == nil {
		if err := documents.CheckWatchable(ctx, v.cluster.Client, ns); err != nil && v.baseline == nil {
			v.report.note(fmt.Sprintf("Writes to %s will not be known: %v.", ns, err))
		}
		since, now, err := documents.ReadClusterTime(ctx, v.cluster.Client)
		if err != nil {
			return err
		}
		v.file.Collections = append(v.file.Collections, verify.Collection{
			Namespace: ns, UUID: v.facts[ns].UUID, Since: since, Began: now, Digest: scan.State(),
		})
		c = v.file.Collection(ns)
		if err := v.beginList(ns); err != nil {
			return err
		}
	} else {
		if v.listing != nil && v.listing.needsHeader {
			if err := v.listing.beginCollection(ns); err != nil {
				return err
			}
		}
		var err error
		if scan, err = verify.Resume(c.Digest, v.digestWithRanges(ns)); err != nil {
			return fmt.Errorf("%s: %w", v.progressFile(), err)
		}
		done := scan.Total()
		v.subtractDone(done)
		v.report.note(fmt.Sprintf("Resuming %s after %d documents, begun at %s.", ns, done.Docs,
			c.Began.UTC().Format(time.RFC3339)))
	}
	scan, err := v.scan(ctx, c, scan)
	c.Digest = scan.State()
	if err != nil {
		return err
	}
	if again, err := documents.Inspect(ctx, v.cluster.Client, ns); err != nil || again.UUID != c.UUID {
		return errors.Join(fmt.Errorf("%s was dropped, renamed or replaced while it was read", ns), err)
	}
	if c.Until, c.Ended, err = documents.ReadClusterTime(ctx, v.cluster.Client); err != nil {
		return err
	}
	c.Digest = scan.Finish()
	if n := v.facts[ns].Docs; n > 0 && scan.Total().Docs == 0 {
		v.report.note(fmt.Sprintf("%s counts %s, and none was found: a mock's virtual data can't be read, or the counts "+
			"are wrong (shardsh audit finds that).", ns, humanize.Count(n, "document")))
	}
	return nil
}

// subtractDone subtracts what an earlier run has read from the remaining amounts.
func (v *verifyRun) subtractDone(s verify.Sum) {
	v.docsExpected, v.bytesExpected = max(0, v.docsExpected-s.Docs), max(0, v.bytesExpected-s.Bytes)
}

// errReopen ends a cursor that is too old.
var errReopen = errors.New("the cursor is old")

// scan reads the remaining documents, and returns the Scan in its final state, also with an error.
// After a failure it reads again from the last range on.
func (v *verifyRun) scan(ctx context.Context, c *verify.Collection, scan *verify.Scan) (*verify.Scan, error) {
	for failures := 0; ; {
		before := scan.State()
		err := v.read(ctx, c, scan)
		if err == nil {
			return scan, nil
		}
		state := scan.State()
		again, resumeErr := verify.Resume(state, v.digestWithRanges(c.Namespace))
		switch {
		case resumeErr != nil:
			return scan, resumeErr
		case ctx.Err() != nil:
			return scan, context.Cause(ctx)
		case errors.Is(err, errReopen):
		default:
			if failures++; len(state.Ranges) > len(before.Ranges) {
				failures = 1
			}
			if err := v.readRetry.wait(ctx, failures, err); err != nil {
				return scan, err
			}
		}
		if err := v.listing.dropLastRange(); err != nil {
			return scan, err
		}
		lost, kept := scan.Total(), again.Total()
		v.docsRead, v.bytesRead = v.docsRead-lost.Docs+kept.Docs, v.bytesRead-lost.Bytes+kept.Bytes
		scan = again
	}
}

// mayRetryRead reports whether a read may succeed when it is retried, because the connection broke or a
// server says so. A limit, a full disk, or documents out of order are not transient.
func mayRetryRead(err error) bool {
	if !errors.As(err, new(*mongoerr.ServerError)) {
		return errors.As(err, new(*mongoerr.UnansweredError))
	}
	return policy.FailureClassOf(err).IsTransient() || mongoerr.Is(err, mongoerr.CursorNotFound)
}

// read puts documents into a Scan, from its current position, as long as a cursor may be used.
func (v *verifyRun) read(ctx context.Context, c *verify.Collection, scan *verify.Scan) error {
	opened := v.cluster.Clock.Now()
	step := int64(readStepBytes) // so that the first step is due immediately
	return v.rangeOf(c, scan.State().NextID(), bson.RawValue{}).Each(ctx, v.cluster.Client, func(doc bson.Raw) error {
		if step >= readStepBytes {
			step = 0
			if err := v.awaitPace(ctx, c, scan, opened); err != nil {
				return err
			}
		}
		step += int64(len(doc))
		v.docsRead++
		v.bytesRead += int64(len(doc))
		if err := scan.Put(doc); err != nil {
			return fmt.Errorf("%s: %w", c.Namespace, err)
		}
		if err := v.listing.add(doc, scan.BeganRange()); err != nil {
			return err
		}
		return v.rate.throttle(ctx, int64(len(doc)))
	})
}

func (v *verifyRun) rangeOf(c *verify.Collection, from, to bson.RawValue) documents.Range {
	return documents.Range{Namespace: c.Namespace, From: from, To: to, AfterClusterTime: c.Since, Secondary: v.Secondary,
		MaxTime: 2 * maxCursorAge}
}

// awaitPace waits until more may be read, and saves the progress at intervals.
func (v *verifyRun) awaitPace(ctx context.Context, c *verify.Collection, scan *verify.Scan, opened time.Time) error {
	began := v.cluster.Clock.Now()
	if err := v.gate.Enter(ctx, pace.Move{Namespace: c.Namespace, MovesNothing: true}); err != nil {
		return err
	}
	v.gate.Leave(pace.Move{Namespace: c.Namespace, MovesNothing: true}, nil)
	v.report.Report(VerifyProgress{c.Namespace, v.docsRead, v.bytesRead, v.docsExpected, v.bytesExpected})
	now := v.cluster.Clock.Now()
	if now.Sub(v.savedAt) >= saveInterval {
		c.Digest = scan.State()
		if err := v.saveProgress(); err != nil {
			return err
		}
	}
	if now.Sub(began) >= maxCursorIdle || now.Sub(opened) >= maxCursorAge {
		return errReopen
	}
	return nil
}
