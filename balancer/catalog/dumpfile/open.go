package dumpfile

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"shardsh/balancer/catalog"
	"shardsh/balancer/safefile"
)

// These are the limits of files, in uncompressed bytes. A small file with very large content may be an
// attack.
const (
	maxBytes            = 4 << 30
	alwaysAllowedBytes  = 64 << 20
	maxCompressionRatio = 64
)

// Open reads the dump in a directory: the directory of the config database, or the directory above it,
// as mongodump creates it.
func Open(path string) (*catalog.Snapshot, error) {
	for _, dir := range []string{path, filepath.Join(path, "config"), filepath.Join(path, "dump", "config")} {
		for _, name := range []string{"shards.bson", "shards.bson.gz"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				s, err := read(func(name string) ([]byte, error) { return readContents(dir, name) }, path)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", dir, err)
				}
				return s, nil
			}
		}
	}
	return nil, fmt.Errorf("%s: %w: neither it nor its config has a file shards.bson or shards.bson.gz, as "+
		"mongodump --db config --out DIR writes it", path, ErrNotDump)
}

// readContents returns the content of a file in a directory, plain or gzipped; nil if the file does not
// exist.
func readContents(dir, name string) ([]byte, error) {
	data, err := readPlain(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		data, err = readGzip(filepath.Join(dir, name+".gz"))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, safefile.ErrTooLong):
		return nil, fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return data, err
}

func readPlain(path string) ([]byte, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxBytes {
		return nil, fmt.Errorf("%s: %w: it has %d bytes", path, ErrTooLarge, info.Size())
	}
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return data, nil
}

func readGzip(path string) ([]byte, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	packed, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
	most := min(maxBytes, max(alwaysAllowedBytes, maxCompressionRatio*info.Size()))
	data, err := io.ReadAll(io.LimitReader(packed, most+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	case int64(len(data)) > most:
		return nil, fmt.Errorf("%s: %w: it unpacks to more than %d bytes", path, ErrTooLarge, most)
	}
	return data, nil
}
