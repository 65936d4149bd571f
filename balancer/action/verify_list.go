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

// maxNamedDifferences is the maximum number of differing documents that are named, in all collections.
const maxNamedDifferences = 1_000_000

// documentList writes the list of documents of a digest. A nil documentList writes nothing.
type documentList struct {
	file        *os.File
	out         *bufio.Writer
	buf         []byte
	offset      int64 // bytes written
	rangeStart  int64 // start of the last range
	needsHeader bool  // the header of the collection that is resumed is not written yet
}

// createList opens the list for writing, at the position that an earlier run has reached.
func (v *verifyRun) createList() (err error) {
	if v.DocumentsFile == "" || v.isComparison() {
		return nil
	}
	flags := os.O_RDWR | os.O_CREATE | os.O_EXCL
	switch {
	case len(v.file.Collections) > 0: // continues an earlier run
		flags = os.O_RDWR
	case v.Restart:
		flags = os.O_RDWR | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(v.DocumentsFile, flags, 0o600)
	if info, statErr := os.Stat(v.DocumentsFile); errors.Is(err, os.ErrExist) && statErr == nil && info.Size() == 0 {
		file, err = os.OpenFile(v.DocumentsFile, os.O_RDWR, 0o600)
	}
	if errors.Is(err, os.ErrExist) {
		return refuse("{documents} %s is there already: remove it, or name another file", v.DocumentsFile)
	}
	if err != nil {
		return err
	}
	v.listing = &documentList{file: file, out: bufio.NewWriterSize(file, 1<<20)}
	at := int64(0)
	if len(v.file.Collections) > 0 {
		if at, v.listing.needsHeader, err = v.listResumePoint(file); err != nil {
			return errors.Join(fmt.Errorf("%s: %w; start over with {restart}", v.DocumentsFile, err), file.Close())
		}
	}
	return v.listing.truncate(at)
}

// listResumePoint checks the list of an earlier run. It returns the position at which the list
// continues, and whether the header of the collection is still to be written, since the progress is
// saved before the header.
func (v *verifyRun) listResumePoint(file *os.File) (at int64, needsHeader bool, err error) {
	reader := verify.NewHashListReader(file)
	for _, c := range v.file.Collections {
		at = reader.Offset()
		err := reader.SkipToCollection(c.Namespace)
		switch {
		case err != nil && !c.Finished && len(c.Ranges) == 1:
			return at, true, nil
		case err != nil:
			return 0, false, err
		case !c.Finished:
			at, err = reader.CheckPrefix(c.Digest)
			return at, false, err
		}
		if err := checkListed(reader, c.Digest); err != nil {
			return 0, false, err
		}
	}
	return reader.Offset(), false, nil
}

// checkListed reads all documents of a collection.
func checkListed(reader *verify.HashListReader, d verify.Digest) error {
	for i, r := range d.Ranges {
		if _, err := reader.ReadRange(r.From, d.RangeEnd(i), r.Sum); err != nil {
			return err
		}
	}
	return nil
}

// truncate truncates the file at a position.
func (l *documentList) truncate(at int64) error {
	l.out.Reset(l.file)
	l.offset, l.rangeStart = at, at
	if err := l.file.Truncate(at); err != nil {
		return err
	}
	_, err := l.file.Seek(at, io.SeekStart)
	return err
}

// dropLastRange removes the last range.
func (l *documentList) dropLastRange() error {
	if l == nil {
		return nil
	}
	if err := l.out.Flush(); err != nil {
		return err
	}
	return l.truncate(l.rangeStart)
}

func (l *documentList) write(entry []byte, err error) error {
	if err != nil {
		return err
	}
	l.buf = entry[:0]
	l.offset += int64(len(entry))
	_, err = l.out.Write(entry)
	return err
}

// beginCollection begins a collection.
func (l *documentList) beginCollection(ns string) error {
	l.needsHeader = false
	err := l.write(verify.AppendCollection(l.buf, ns))
	l.rangeStart = l.offset
	return err
}

// beginList begins a collection. It saves the progress first: a list without progress does not belong
// to this run.
func (v *verifyRun) beginList(ns string) error {
	if v.listing == nil {
		return nil
	}
	if err := v.saveProgress(); err != nil {
		return err
	}
	return v.listing.beginCollection(ns)
}

// add adds a document. startsRange says that the document is the first of a range.
func (l *documentList) add(doc bson.Raw, startsRange bool) error {
	if l == nil {
		return nil
	}
	if startsRange {
		l.rangeStart = l.offset
	}
	return l.write(verify.AppendDocumentHash(l.buf, doc))
}

func (l *documentList) flush() error {
	if l == nil {
		return nil
	}
	return l.out.Flush()
}

func (l *documentList) close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.out.Flush(), l.file.Sync(), l.file.Close())
}

// openList opens the list that was written beside the digest; nil if there is none.
func (v *verifyRun) openList(ns string) (reader *verify.HashListReader, end func() error, err error) {
	if v.DocumentsFile == "" {
		return nil, func() error { return nil }, nil
	}
	file, err := os.Open(v.DocumentsFile)
	if err != nil {
		return nil, nil, err
	}
	reader = verify.NewHashListReader(file)
	if err := reader.SkipToCollection(ns); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", v.DocumentsFile, err), file.Close())
	}
	return reader, file.Close, nil
}

// addNamesFromList names all documents of a range that differ from the list.
func (v *verifyRun) addNamesFromList(
	s *differingRange, list []verify.DocumentHash,
) (put func(bson.Raw), told func(*VerifyDifference)) {
	exact := verify.NewDocumentDiff(list, &s.writes)
	return exact.Put, func(d *VerifyDifference) {
		docs, verdict := exact.Differing()
		d.Verdict = verdict
		shown := min(len(docs), maxNamedDifferences-v.namedDifferences)
		d.More = len(docs) - shown
		v.namedDifferences += shown
		for _, doc := range docs[:shown] {
			d.Documents = append(d.Documents, VerifyDocument{doc.Kind, extJSON(doc.ID), doc.Before, doc.After})
		}
	}
}
