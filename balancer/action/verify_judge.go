package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/safefile"
	"shardsh/balancer/verify"
)

// differingRange is a range that differs.
type differingRange struct {
	index         int
	from, to      bson.RawValue
	before, now   verify.Sum
	stillChanging bool
	writes        verify.Writes
}

// judge compares a collection with its earlier digest.
func (v *verifyRun) judge(ctx context.Context, ns string) (result VerifyCollection, err error) {
	c := v.file.Collection(ns)
	total := c.Total()
	result = VerifyCollection{
		Namespace: ns, Verdict: VerifyNotCompared, Docs: total.Docs, Bytes: total.Bytes, Ranges: len(c.Ranges),
	}
	if v.baseline == nil {
		return result, nil
	}
	earlier := v.baseline.Collection(ns)
	result.Verdict, result.DocsBefore, result.BaselineTime = string(verify.Same), earlier.Total().Docs, earlier.Ended
	if earlier.UUID != c.UUID {
		result.Notes = append(result.Notes, "it has another UUID: it was restored, resharded, or renamed")
	}
	suspects, err := v.rereadUntilStable(ctx, earlier, c)
	if err != nil || len(suspects) == 0 {
		return result, err
	}
	if err := v.rereadSuspects(ctx, c, suspects); err != nil {
		return result, err
	}
	if err := v.findWrites(ctx, earlier, suspects, &result); err != nil {
		return result, err
	}
	list, end, err := v.openList(ns)
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, end()) }()
	result.Differing = map[verify.Verdict]int{}
	for _, s := range suspects {
		d, err := v.nameDifferences(ctx, c, s, list)
		if err != nil {
			return result, err
		}
		if d.Verdict == verify.Same {
			continue
		}
		result.Differing[d.Verdict]++
		result.Written += d.Written
		result.Differences = append(result.Differences, d)
		result.Verdict = worstVerdict(result.Verdict, string(d.Verdict))
	}
	return result, nil
}

// rereadUntilStable reads differing ranges again until two consecutive reads agree.
func (v *verifyRun) rereadUntilStable(ctx context.Context, earlier,
	c *verify.Collection) (suspects []*differingRange, err error) {
	for _, i := range verify.DifferingRanges(earlier.Digest, c.Digest) {
		suspects = append(suspects, &differingRange{
			index: i, from: earlier.Ranges[i].From, to: earlier.RangeEnd(i), before: earlier.Ranges[i].Sum,
			now: c.Ranges[i].Sum, stillChanging: true,
		})
	}
	if len(suspects) > 0 {
		v.report.note(fmt.Sprintf("%s: differs in %s; reads those again.", c.Namespace,
			humanize.Count(len(suspects), "range")))
	}
	for range v.MaxRereads {
		if !slices.ContainsFunc(suspects, func(s *differingRange) bool { return s.stillChanging }) {
			break
		}
		if err := v.cluster.Clock.Sleep(ctx, v.RereadPause); err != nil {
			return nil, err
		}
		for _, s := range suspects {
			if !s.stillChanging {
				continue
			}
			sum, err := v.readSum(ctx, c, s)
			if err != nil {
				return nil, err
			}
			s.stillChanging = sum != s.now && sum != s.before
			s.now = sum
			c.Ranges[s.index].Sum = sum
		}
		suspects = slices.DeleteFunc(suspects, func(s *differingRange) bool { return s.now == s.before })
	}
	return suspects, nil
}

// rereadSuspects reads all suspects again if a list names their documents: some ranges may have settled
// before later writes, and writes are known up to now.
func (v *verifyRun) rereadSuspects(ctx context.Context, c *verify.Collection, suspects []*differingRange) (err error) {
	for _, s := range suspects {
		if v.DocumentsFile == "" {
			break
		}
		if s.now, err = v.readSum(ctx, c, s); err != nil {
			return err
		}
		c.Ranges[s.index].Sum = s.now
	}
	return nil
}

// readSum reads one range.
func (v *verifyRun) readSum(ctx context.Context, c *verify.Collection, s *differingRange) (verify.Sum, error) {
	return retryRead(ctx, v.readRetry, func() (verify.Sum, error) {
		scan := verify.NewScanLike(verify.Digest{Ranges: make([]verify.Range, 1)})
		err := v.readRange(ctx, c, s, scan.Put)
		return scan.Total(), err
	})
}

// readRange reads the current documents of a range.
func (v *verifyRun) readRange(
	ctx context.Context,
	c *verify.Collection,
	s *differingRange,
	put func(bson.Raw) error,
) error {
	after, _, err := documents.ReadClusterTime(ctx, v.cluster.Client)
	if err != nil {
		return err
	}
	r := v.rangeOf(c, s.from, s.to)
	r.AfterClusterTime = after
	return r.Each(ctx, v.cluster.Client, func(doc bson.Raw) error {
		if err := put(doc); err != nil {
			return err
		}
		return v.rate.throttle(ctx, int64(len(doc)))
	})
}

// findWrites determines which documents of suspects were written since the beginning of the digest. If
// that is not possible, all documents count as different, and a note says so.
func (v *verifyRun) findWrites(
	ctx context.Context, was *verify.Collection, suspects []*differingRange, result *VerifyCollection,
) error {
	until, _, err := documents.ReadClusterTime(ctx, v.cluster.Client)
	if err != nil {
		return err
	}
	if was.Since.IsZero() {
		result.Notes = append(result.Notes, "the digest has no operation time: writes since are not known")
		return nil
	}
	v.report.note(fmt.Sprintf("%s: reads which documents were written since, which takes some seconds.", was.Namespace))
	count := 0
	err = documents.ReadWrites(ctx, v.cluster.Client, was.Namespace, was.Since, until, func(w documents.Write) error {
		s := suspectWith(suspects, w.ID)
		if s == nil {
			return nil
		}
		known := s.writes.Len()
		s.writes.Add(w.ID, w.Inserted, w.At.Compare(was.Until) <= 0)
		if count += s.writes.Len() - known; count > verify.MaxWrites {
			return verify.ErrTooManyWrites
		}
		return nil
	})
	if err == nil || ctx.Err() != nil {
		return err
	}
	for _, s := range suspects {
		s.writes = verify.Writes{}
	}
	reason := err.Error()
	if lost := errors.Is(err, documents.ErrCollectionGone) || errors.Is(err, verify.ErrTooManyWrites); !lost {
		reason = "the change stream can't be read: " + reason
	}
	result.Notes = append(result.Notes,
		"writes since the digest are not known, so differences can't be explained: "+reason)
	return nil
}

// suspectWith returns the suspect that contains an _id; nil if there is none. Suspects are in the order
// of _id.
func suspectWith(suspects []*differingRange, id bson.RawValue) *differingRange {
	i, _ := slices.BinarySearchFunc(suspects, id, func(s *differingRange, id bson.RawValue) int {
		if s.to.Type != 0 && keyorder.Compare(id, s.to) >= 0 {
			return -1
		}
		return 1 // the first suspect that ends after the _id
	})
	if i == len(suspects) || suspects[i].from.Type != 0 && keyorder.Compare(id, suspects[i].from) < 0 {
		return nil
	}
	return suspects[i]
}

// nameDifferences reads a range for the last time, and names the differing documents. With a list of
// the earlier documents, it can name all of them.
func (v *verifyRun) nameDifferences(
	ctx context.Context, c *verify.Collection, s *differingRange, list *verify.HashListReader,
) (d VerifyDifference, err error) {
	var listed []verify.DocumentHash
	if list != nil {
		if listed, err = list.ReadRange(s.from, s.to, s.before); err != nil {
			return d, fmt.Errorf("%s: %w", v.DocumentsFile, err)
		}
	}
	var tell func(*VerifyDifference)
	total, err := retryRead(ctx, v.readRetry, func() (verify.Sum, error) {
		var put func(bson.Raw)
		if put, tell = v.nameBySums(s); list != nil {
			put, tell = v.addNamesFromList(s, listed)
		}
		scan := verify.NewScanLike(verify.Digest{Ranges: make([]verify.Range, 1)})
		err := v.readRange(ctx, c, s, func(doc bson.Raw) error { put(doc); return scan.Put(doc) })
		return scan.Total(), err
	})
	if err != nil {
		return d, err
	}
	changing := total != s.now // because of writes that are not known yet
	if total == s.before {
		d.Verdict = verify.Same
		c.Ranges[s.index].Sum = s.before
		return d, nil
	}
	d = VerifyDifference{
		Namespace: c.Namespace, From: extJSON(s.from), To: extJSON(s.to),
		DocsBefore: s.before.Docs, Docs: s.now.Docs, Written: s.writes.Len(),
	}
	tell(&d)
	if explained := list != nil && d.Verdict == verify.Explained; changing && s.writes.Len() > 0 && !explained {
		d.Verdict = verify.Written // the number of documents is from another time
	}
	if d.Verdict == verify.Written {
		d.Documents, d.More = nil, 0
	}
	return d, nil
}

// nameBySums names the documents that can be determined from the sums of a range.
func (v *verifyRun) nameBySums(s *differingRange) (put func(bson.Raw), addNames func(*VerifyDifference)) {
	n := verify.NewDifferenceFinder(s.before, s.now, &s.writes)
	return n.Put, func(d *VerifyDifference) {
		d.Verdict = n.Verdict()
		for _, doc := range n.Differing() {
			d.Documents = append(d.Documents, VerifyDocument{doc.Kind, extJSON(doc.ID), doc.Before, doc.After})
		}
	}
}

// write writes the digest and the differences, and removes the progress.
func (v *verifyRun) write(result *VerifyResult) error {
	text, _, err := v.file.Marshal()
	if err != nil {
		return err
	}
	result.DigestText = string(text)
	if v.Output != "" {
		if err := safefile.Replace(v.Output, textWriter(text)); err != nil {
			return err
		}
		result.Output = v.Output
	}
	if v.DifferencesFile != "" {
		if err := safefile.Replace(v.DifferencesFile, v.differencesWriter(result)); err != nil {
			return err
		}
		result.DifferencesFile = v.DifferencesFile
	}
	if v.progressFile() != "" {
		if err := os.Remove(v.progressFile()); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (v *verifyRun) differencesWriter(result *VerifyResult) func(io.Writer) error {
	return func(to io.Writer) error {
		lines := json.NewEncoder(to)
		lines.SetEscapeHTML(false)
		for _, c := range result.Collections {
			for _, d := range c.Differences {
				if err := lines.Encode(d); err != nil {
					return err
				}
			}
		}
		return nil
	}
}
