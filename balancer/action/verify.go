package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/balancer/safefile"
	"shardsh/balancer/verify"
)

// DefaultMaxRereads is the default number of times that differing ranges are read again, and
// DefaultRereadPause is the wait before each read.
const (
	DefaultMaxRereads  = 3
	DefaultRereadPause = 2 * time.Second
)

// Verify checks whether collections contain the same documents as before: it makes a digest of them, or
// compares them with an earlier digest.
type Verify struct {
	// Namespaces are the collections; none means all collections of the baseline.
	Namespaces []string
	// Output is the file to write the digest to; empty for none. While it is made a file
	// beside it contains the progress, from which another run can continue. Restart starts from the
	// beginning.
	Output  string
	Restart bool
	// NoProgressFile does not save the progress.
	NoProgressFile bool
	// BaselineFile is the file of the digest to compare with. BaselineDigest is the text of that
	// digest, instead of a file.
	BaselineFile, BaselineDigest string
	// DocumentsFile is the file for the _id and hash of each document, beside a digest. It is written with
	// the digest, and read to name all documents that differ.
	DocumentsFile string
	// DifferencesFile is the file for the differences, with one JSON object per line.
	DifferencesFile string
	// MaxRereads is the maximum number of times that differing ranges are read again, each after
	// RereadPause, until they do not change any more.
	MaxRereads  int
	RereadPause time.Duration
	// MaxBytesPerSecond is the maximum number of bytes read per second; zero means no limit.
	MaxBytesPerSecond int64
	// PauseBetween is the wait after each 16 MiB, MaxDuration is the maximum duration, and Window is the time
	// of day in which to read, by the cluster's clock.
	PauseBetween, MaxDuration time.Duration
	Window                    *pace.Window
	// Secondary reads from secondaries of shards that have one.
	Secondary bool
}

// VerifyResult is the result of a Verify.
type VerifyResult struct {
	// Verdict is the worst verdict of all collections; "digest" if nothing was compared, "unknown" if
	// the comparison was not possible.
	Verdict         string             `json:"verdict"`
	Collections     []VerifyCollection `json:"collections"`
	Output          string             `json:"output,omitzero"`
	DifferencesFile string             `json:"differences,omitzero"`
	// Stopped says why the read ended early. ResumeFile is the file from which another run can continue.
	Stopped    string `json:"stopped,omitzero"`
	ResumeFile string `json:"resume,omitzero"`
	MS         int64  `json:"millis"`

	// DigestText is the digest as in the file.
	DigestText string `json:"-"`
}

// The verdicts besides those of ranges.
const (
	VerifyNotCompared = "digest"
	VerifyUnknown     = "unknown"
)

// Unchanged reports whether all documents are unchanged, except for documents that were written since.
func (r VerifyResult) Unchanged() bool {
	return r.Verdict == string(verify.Same) || r.Verdict == string(verify.Explained)
}

// Differs reports whether documents have changed without a write that explains it.
func (r *VerifyResult) Differs() bool { return r != nil && r.Verdict == string(verify.Different) }

// VerifyCollection is the result for one collection.
type VerifyCollection struct {
	Namespace string `json:"ns"`
	Verdict   string `json:"verdict"`
	Docs      int64  `json:"docs"`
	Bytes     int64  `json:"bytes"`
	Ranges    int    `json:"ranges"`
	// DocsBefore and BaselineTime are the number of documents and the time of the earlier digest.
	DocsBefore   int64     `json:"docsBefore,omitzero"`
	BaselineTime time.Time `json:"before,omitzero"`
	// Differing contains the number of differing ranges, by verdict.
	Differing map[verify.Verdict]int `json:"differing,omitempty"`
	// Written is the number of documents in these ranges that were written since.
	Written int      `json:"written,omitzero"`
	Notes   []string `json:"notes,omitempty"`

	Differences []VerifyDifference `json:"-"`
}

// VerifyDifference is a differing range.
type VerifyDifference struct {
	Namespace string         `json:"ns"`
	Verdict   verify.Verdict `json:"verdict"`
	// From and To are the bounds of the range by _id; empty means no bound.
	From       json.RawMessage  `json:"from,omitempty"`
	To         json.RawMessage  `json:"to,omitempty"`
	DocsBefore int64            `json:"docsBefore"`
	Docs       int64            `json:"docs"`
	Written    int              `json:"written,omitzero"`
	Documents  []VerifyDocument `json:"documents,omitempty"`
	// More is the number of further differing documents after a million documents are named.
	More int `json:"more,omitzero"`
}

// VerifyDocument is a document that differs.
type VerifyDocument struct {
	Kind verify.DifferenceKind `json:"kind"`
	// ID is empty for a document that does not exist any more and is in no list.
	ID     json.RawMessage `json:"_id,omitempty"`
	Before *verify.Hash    `json:"hashBefore,omitempty"`
	After  *verify.Hash    `json:"hash,omitempty"`
}

func (v Verify) isComparison() bool { return v.BaselineFile != "" || v.BaselineDigest != "" }

// Validate checks the options.
func (v Verify) Validate() error {
	switch {
	case v.BaselineFile != "" && v.BaselineDigest != "":
		return refuse("{against} is one digest")
	case len(v.Namespaces) == 0 && !v.isComparison():
		return refuse("{ns} is missing: which collection?")
	case v.DifferencesFile != "" && !v.isComparison():
		return refuse("{differences} needs {against}")
	case v.Output != "" && (v.Output == v.BaselineFile || v.Output == v.DifferencesFile):
		return refuse("{output} is the name of another file")
	case v.DocumentsFile != "" && (v.DocumentsFile == v.Output || v.DocumentsFile == v.BaselineFile ||
		v.DocumentsFile == v.DifferencesFile):
		return refuse("{documents} is the name of another file")
	case v.DocumentsFile != "" && !v.isComparison() && v.Output == "":
		return refuse("{documents} needs {output} or {against}")
	case v.MaxRereads < 0 || v.RereadPause < 0 || v.PauseBetween < 0 || v.MaxDuration < 0:
		return refuse("{settle}, {settlePause}, {pauseBetween} and {for} can't be negative")
	case v.MaxBytesPerSecond < 0:
		return refuse("{maxRate} can't be negative: %d", v.MaxBytesPerSecond)
	}
	seen := map[string]bool{}
	for _, ns := range v.Namespaces {
		if _, _, err := catalog.SplitNamespace(ns); err != nil {
			return refuse("{ns} takes DB.COLLECTION, not %q", ns)
		}
		if seen[ns] {
			return refuse("{ns} names %s twice", ns)
		}
		seen[ns] = true
	}
	return nil
}

// progressFile returns the file for the progress; empty if there is none.
func (v Verify) progressFile() string {
	switch {
	case v.NoProgressFile:
		return ""
	case v.Output != "":
		return v.Output + ".part"
	case v.BaselineFile != "":
		return v.BaselineFile + ".after.part"
	}
	return ""
}

// readBaseline reads the digest to compare with.
func (v *Verify) readBaseline() (f *verify.File, checksum string, err error) {
	text := []byte(v.BaselineDigest)
	if v.BaselineFile != "" {
		if text, err = safefile.Read(v.BaselineFile, verify.MaxFileBytes, time.Minute); err != nil {
			return nil, "", err
		}
	}
	if f, checksum, err = verify.Parse(text); err == nil && !f.Finished() {
		err = errors.New("it is not finished")
	}
	if err != nil && v.BaselineFile != "" {
		err = fmt.Errorf("%s: %w", v.BaselineFile, err)
	}
	if err != nil {
		return nil, "", err
	}
	if len(v.Namespaces) == 0 {
		for _, c := range f.Collections {
			v.Namespaces = append(v.Namespaces, c.Namespace)
		}
	}
	for _, ns := range v.Namespaces {
		if f.Collection(ns) == nil {
			return nil, "", refuse("{against} has no %s", ns)
		}
	}
	return f, checksum, nil
}

// Run makes the digest, or compares. If Run ends early, the progress is kept, and the result says so.
// The error is an error of the cluster or of a file.
func (v Verify) Run(ctx context.Context, c Cluster, r Reporter) (result VerifyResult, err error) {
	result.Verdict = VerifyUnknown
	if err := v.Validate(); err != nil {
		return result, err
	}
	if _, err := os.Stat(v.Output); v.Output != "" && err == nil && !safefile.IsSpecial(v.Output) {
		return result, refuse("{output} %s is there already: remove it, or name another file", v.Output)
	}
	if dir := filepath.Dir(v.Output); v.Output != "" && !isDir(dir) {
		return result, refuse("{output} %s: there is no directory %s", v.Output, dir)
	}
	began := c.Clock.Now()
	report := &serialReporter{next: r}
	run := &verifyRun{
		Verify: v, cluster: c, report: report, rate: readRate{clock: c.Clock, maxBytesPerSecond: v.MaxBytesPerSecond},
		readRetry: readRetry{c.Clock, report},
	}
	if v.isComparison() {
		if run.baseline, run.file.AgainstChecksum, err = run.Verify.readBaseline(); err != nil {
			return result, err
		}
	}
	if err := run.resume(); err != nil {
		return result, err
	}
	run.gate = pace.NewGate(pace.Rules{MaxTime: v.MaxDuration, Window: v.Window, PauseBetween: v.PauseBetween}, c.Clock,
		pace.WithTime(c.now), pace.WithEvents(func(e pace.Event) { run.report.Report(Wait{e}) }))
	if err = run.createList(); err != nil {
		return result, err
	}
	err = run.readAndJudge(ctx, &result)
	err = errors.Join(err, run.listing.close())
	result.MS = c.Clock.Now().Sub(began).Milliseconds()
	if over := new(pace.RunOverError); errors.As(err, &over) {
		result.Stopped, err = over.Why, nil
	}
	if (err != nil || result.Stopped != "") && run.hasProgressFile {
		result.ResumeFile = v.progressFile()
	}
	return result, err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readAndJudge reads all collections, then judges them.
func (v *verifyRun) readAndJudge(ctx context.Context, result *VerifyResult) error {
	if err := v.reportCost(ctx); err != nil {
		return err
	}
	for _, ns := range v.Namespaces {
		if err := v.readCollection(ctx, ns); err != nil {
			return errors.Join(err, v.saveProgress())
		}
	}
	if err := v.saveProgress(); err != nil {
		return err
	}
	verdict := VerifyNotCompared
	for _, ns := range v.Namespaces {
		judged, err := v.judge(ctx, ns)
		if err != nil {
			return err
		}
		result.Collections = append(result.Collections, judged)
		verdict = worstVerdict(verdict, judged.Verdict)
	}
	if err := v.write(result); err != nil {
		return err
	}
	result.Verdict = verdict
	return nil
}

// worstVerdict returns the worse one of two verdicts.
func worstVerdict(a, b string) string {
	order := []string{VerifyNotCompared, string(verify.Same), string(verify.Explained), string(verify.Written),
		VerifyUnknown, string(verify.Different)}
	worst := a
	for _, v := range order {
		if v == a || v == b {
			worst = v
		}
	}
	return worst
}

// reportCost reports the cost of the read before it begins.
func (v *verifyRun) reportCost(ctx context.Context) error {
	v.facts = map[string]documents.CollectionFacts{}
	for _, ns := range v.Namespaces {
		f, err := documents.Inspect(ctx, v.cluster.Client, ns)
		switch {
		case mongoerr.Is(err, mongoerr.NamespaceNotFound):
			return err
		case err != nil:
			return fmt.Errorf("%s: %w", ns, err)
		}
		v.facts[ns] = f
		v.docsExpected, v.bytesExpected = v.docsExpected+f.Docs, v.bytesExpected+f.Bytes
	}
	text := fmt.Sprintf("Reads about %s, %s.", humanize.Count(v.docsExpected, "document"), humanize.Bytes(v.bytesExpected))
	if v.MaxBytesPerSecond > 0 {
		minDuration := time.Duration(float64(v.bytesExpected) / float64(v.MaxBytesPerSecond) * float64(time.Second))
		text = fmt.Sprintf("%s, at least %s at %s.", text[:len(text)-1], humanize.Duration(minDuration),
			humanize.Rate(float64(v.MaxBytesPerSecond)))
	}
	v.report.note(text)
	return nil
}

// extJSON returns a value as JSON; nil if there is no value.
func extJSON(id bson.RawValue) json.RawMessage {
	if id.Type == 0 {
		return nil
	}
	text, err := bson.MarshalExtJSON(bson.D{{Key: "_id", Value: id}}, true, false)
	if err != nil { // the value is damaged
		return json.RawMessage("null")
	}
	var doc struct {
		ID json.RawMessage `json:"_id"`
	}
	if json.Unmarshal(text, &doc) != nil {
		return json.RawMessage("null")
	}
	return doc.ID
}
