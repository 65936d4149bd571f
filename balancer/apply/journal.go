package apply

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Journal is a write-ahead log in a file, with one JSON document per line. Each record is on disk
// before the action that it records begins.
type Journal struct {
	file *os.File
	// History is the content of the file when it was opened; nil for a new file.
	History *ParsedJournal
	// mayHaveExecuted says that a step or command was, or may have been, executed.
	mayHaveExecuted bool
}

// ErrJournalInUse says that another process has opened a journal for writing.
var ErrJournalInUse = errors.New("another shardsh uses this journal")

// CreateJournal creates a journal. An existing file is not overwritten, unless it is a journal whose
// first line is incomplete, so that no step had begun.
func CreateJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return recreateJournal(path)
	}
	j, err := lockJournal(file, err)
	if err != nil {
		return nil, err
	}
	if dir, err := os.Open(filepath.Dir(path)); err == nil {
		_ = dir.Sync() // not supported on every system
		_ = dir.Close()
	}
	return j, nil
}

// journalPrefix is the prefix of every journal.
const journalPrefix = `{"what":"plan",`

func recreateJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	j, err := lockJournal(file, err)
	if err != nil {
		return nil, err
	}
	head, err := bufio.NewReader(file).ReadBytes('\n')
	n := min(len(head), len(journalPrefix))
	if !errors.Is(err, io.EOF) || string(head[:n]) != journalPrefix[:n] {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("%s exists already: resume it (--resume), undo it (--undo), or name another "+
			"journal", path)
	}
	if err := file.Truncate(0); err != nil {
		_ = file.Close() // the first error is returned
		return nil, err
	}
	_, err = file.Seek(0, io.SeekStart)
	return j, err
}

// OpenJournal opens a journal for another run.
func OpenJournal(path string) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	j, err := lockJournal(file, err)
	if err != nil {
		return nil, err
	}
	if j.History, err = ReadJournal(file); err == nil {
		j.History.path = path
		if err = file.Truncate(j.History.size); err == nil {
			_, err = file.Seek(j.History.size, io.SeekStart)
		}
	}
	if err != nil {
		_ = file.Close() // the first error is returned
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return j, nil
}

// LoadJournal reads a journal that another process may be writing.
func LoadJournal(path string) (*ParsedJournal, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // nothing was written
	h, err := ReadJournal(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	h.path = path
	return h, nil
}

// lockJournal locks a file for this process. The lock ends with the process.
func lockJournal(file *os.File, err error) (*Journal, error) {
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", file.Name(), err)
	}
	return &Journal{file: file}, nil
}

// Path returns the path of the journal.
func (j *Journal) Path() string { return j.file.Name() }

// Write appends a record, and returns when the record is on disk.
func (j *Journal) Write(r Record) error {
	j.mayHaveExecuted = j.mayHaveExecuted || r.What == recordBegan || r.What == recordBalancingOff ||
		r.What == RecordDraining
	line, err := json.Marshal(r)
	if err == nil {
		_, err = j.file.Write(append(line, '\n'))
	}
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("writing the journal: %w", err)
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
