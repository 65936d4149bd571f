package snapfile

import (
	"cmp"
	"fmt"
	"io"

	"shardsh/balancer/catalog"
	"shardsh/balancer/safefile"
)

// Save writes a snapshot to a file atomically. It does not replace a special file, such as /dev/null.
func Save(path string, s *catalog.Snapshot) error {
	return safefile.Replace(path, func(to io.Writer) error { return Write(to, s) })
}

// Open reads the snapshot in a file. The source of the snapshot is the file; Source.Origin is the
// source from which the file was made.
func Open(path string, limits Limits) (*catalog.Snapshot, error) {
	f, err := safefile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	limits.Bytes = cmp.Or(limits.Bytes, maxUnpackedBytes(info.Size()))
	parts, err := read(f, limits.orDefault())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if parts.Source.Kind != catalog.SourceFile {
		parts.Source.Origin = catalog.Origin{Kind: parts.Source.Kind, Name: parts.Source.Name}
	}
	parts.Source.Kind, parts.Source.Name = catalog.SourceFile, path
	return catalog.NewSnapshot(parts), nil
}

// maxUnpackedBytes limits the uncompressed size of the records in proportion to the size of the file,
// within the general limits: a small file that unpacks to gigabytes may be an attack.
func maxUnpackedBytes(size int64) int64 {
	const least, times = 256 << 20, 64
	return min(Limits{}.orDefault().Bytes, max(least, times*size))
}
