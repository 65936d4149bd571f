package action

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/verify"
)

// maxDiffering is how many documents that differ are named, of all collections.
const maxDiffering = 1_000_000

// listing writes the list of documents of a digest. A nil one writes nothing.
type listing struct {
	file *os.File
	to   *bufio.Writer
	buf  []byte
	at   int64 // bytes that were written
	from int64 // where the last range begins
	owes bool  // the collection that goes on has not been begun
}

// list opens the list that is to be written, in the place that an earlier run has reached.
func (v *verifyRun) list() (err error) {
	if v.Documents == "" || v.compares() {
		return nil
	}
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	switch {
	case len(v.file.Collections) > 0: // goes on
		flags = os.O_RDWR
	case v.Restart:
		flags = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(v.Documents, flags, 0o600)
	if info, statErr := os.Stat(v.Documents); errors.Is(err, os.ErrExist) && statErr == nil && info.Size() == 0 {
		file, err = os.OpenFile(v.Documents, os.O_RDWR, 0o600)
	}
	if errors.Is(err, os.ErrExist) {
		return refuse("{documents} %s is there already: remove it, or name another file", v.Documents)
	}
	if err != nil {
		return err
	}
	v.listing = &listing{file: file, to: bufio.NewWriterSize(file, 1<<20)}
	at := int64(0)
	if len(v.file.Collections) > 0 {
		if at, v.listing.owes, err = v.reached(file); err != nil {
			return errors.Join(fmt.Errorf("%s: %w; start over with {restart}", v.Documents, err), file.Close())
		}
	}
	return v.listing.cut(at)
}

// reached checks what an earlier run has listed, and returns where it goes on, and whether the
// collection is to be begun: the progress has it first.
func (v *verifyRun) reached(file *os.File) (at int64, owes bool, err error) {
	reader := verify.NewListReader(file)
	for _, c := range v.file.Collections {
		at = reader.At()
		err := reader.Collection(c.Namespace)
		switch {
		case err != nil && !c.Finished && len(c.Ranges) == 1:
			return at, true, nil
		case err != nil:
			return 0, false, err
		case !c.Finished:
			at, err = reader.CheckList(c.Digest)
			return at, false, err
		}
		if err := checkListed(reader, c.Digest); err != nil {
			return 0, false, err
		}
	}
	return reader.At(), false, nil
}

// checkListed reads all documents of a collection.
func checkListed(reader *verify.ListReader, d verify.Digest) error {
	for i, r := range d.Ranges {
		if _, err := reader.Range(r.From, d.End(i), r.Sum); err != nil {
			return err
		}
	}
	return nil
}

// cut takes away what is behind a place.
func (l *listing) cut(at int64) error {
	l.to.Reset(l.file)
	l.at, l.from = at, at
	if err := l.file.Truncate(at); err != nil {
		return err
	}
	_, err := l.file.Seek(at, io.SeekStart)
	return err
}

// again takes away what is of the last range.
func (l *listing) again() error {
	if l == nil {
		return nil
	}
	if err := l.to.Flush(); err != nil {
		return err
	}
	return l.cut(l.from)
}

func (l *listing) write(entry []byte, err error) error {
	if err != nil {
		return err
	}
	l.buf = entry[:0]
	l.at += int64(len(entry))
	_, err = l.to.Write(entry)
	return err
}

// begin begins a collection.
func (l *listing) begin(ns string) error {
	l.owes = false
	err := l.write(verify.AppendCollection(l.buf, ns))
	l.from = l.at
	return err
}

// beginList begins a collection, which the progress has before: a list without progress is not ours.
func (v *verifyRun) beginList(ns string) error {
	if v.listing == nil {
		return nil
	}
	if err := v.keep(); err != nil {
		return err
	}
	return v.listing.begin(ns)
}

// put adds a document, which may have begun a range.
func (l *listing) put(doc bson.Raw, begun bool) error {
	if l == nil {
		return nil
	}
	if begun {
		l.from = l.at
	}
	return l.write(verify.AppendListed(l.buf, doc))
}

func (l *listing) flush() error {
	if l == nil {
		return nil
	}
	return l.to.Flush()
}

func (l *listing) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.to.Flush(), l.file.Sync(), l.file.Close())
}

// openList opens the list that was written beside the digest; nil without one.
func (v *verifyRun) openList(ns string) (reader *verify.ListReader, end func() error, err error) {
	if v.Documents == "" {
		return nil, func() error { return nil }, nil
	}
	file, err := os.Open(v.Documents)
	if err != nil {
		return nil, nil, err
	}
	reader = verify.NewListReader(file)
	if err := reader.Collection(ns); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", v.Documents, err), file.Close())
	}
	return reader, file.Close, nil
}

// exactly reads a range for the last time, and names all documents of it that differ.
func (v *verifyRun) exactly(
	s *differingRange, list []verify.Listed,
) (put func(bson.Raw), told func(*VerifyDifference)) {
	exact := verify.NewExact(list, &s.writes)
	return exact.Put, func(d *VerifyDifference) {
		docs, verdict := exact.Documents()
		d.Verdict = verdict
		shown := min(len(docs), maxDiffering-v.listed)
		d.More = len(docs) - shown
		v.listed += shown
		for _, doc := range docs[:shown] {
			d.Documents = append(d.Documents, VerifyDocument{doc.Kind, extended(doc.ID), doc.Before, doc.After})
		}
	}
}
