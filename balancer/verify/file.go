package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// fileFormat identifies the files; fileVersion is the only version.
const (
	fileFormat  = "shardsh verify"
	fileVersion = 1
)

// MaxFileBytes is the maximum size of a file.
const MaxFileBytes = 1 << 30

// Collection is the digest of a collection.
type Collection struct {
	Namespace string
	// UUID is the collection's UUID in hexadecimal digits; empty where it is unknown.
	UUID string
	// Since and Until are the cluster's operation times before and after the read. Writes between them
	// may or may not be in the digest. They are zero where the times are unknown.
	Since, Until bson.Timestamp
	// Began and Ended are the cluster's wall-clock times.
	Began, Ended time.Time
	Digest
}

// File is the content of a file. An unfinished file is the progress of a run.
type File struct {
	// AgainstChecksum is the checksum of the file to compare with; empty for none.
	AgainstChecksum string
	Collections     []Collection
}

// Collection returns the collection with a name; nil when there is none.
func (f *File) Collection(ns string) *Collection {
	for i := range f.Collections {
		if f.Collections[i].Namespace == ns {
			return &f.Collections[i]
		}
	}
	return nil
}

// Finished reports whether all collections were read completely.
func (f *File) Finished() bool {
	for _, c := range f.Collections {
		if !c.Finished {
			return false
		}
	}
	return len(f.Collections) > 0
}

// The JSON form of a file. The checksum is that of the body without white space.
type (
	fileJSON struct {
		Format   string          `json:"format"`
		Version  int             `json:"version"`
		Checksum string          `json:"checksum"`
		Body     json.RawMessage `json:"body"`
	}
	bodyJSON struct {
		Against     string           `json:"against,omitzero"`
		Collections []collectionJSON `json:"collections"`
	}
	collectionJSON struct {
		Namespace string      `json:"ns"`
		UUID      string      `json:"uuid,omitzero"`
		Since     timeJSON    `json:"since,omitzero"`
		Until     timeJSON    `json:"until,omitzero"`
		Began     time.Time   `json:"began,omitzero"`
		Ended     time.Time   `json:"ended,omitzero"`
		Finished  bool        `json:"finished"`
		PerRange  int64       `json:"perRange,omitzero"`
		Ranges    []rangeJSON `json:"ranges"`
	}
	timeJSON struct {
		Seconds   uint32 `json:"t"`
		Increment uint32 `json:"i"`
	}
	rangeJSON struct {
		// From is {_id: …} in BSON, because JSON would lose some strings and NaNs.
		From []byte `json:"from,omitempty"`
		Sum
	}
)

// Marshal returns the file as JSON, and its checksum.
func (f *File) Marshal() (text []byte, checksum string, err error) {
	body := bodyJSON{Against: f.AgainstChecksum, Collections: []collectionJSON{}}
	for _, c := range f.Collections {
		to := collectionJSON{
			Namespace: c.Namespace, UUID: c.UUID, Began: c.Began, Ended: c.Ended,
			Since: timeJSON{c.Since.T, c.Since.I}, Until: timeJSON{c.Until.T, c.Until.I},
			Finished: c.Finished, PerRange: c.DocsPerRange, Ranges: make([]rangeJSON, len(c.Ranges)),
		}
		for i, r := range c.Ranges {
			to.Ranges[i].Sum = r.Sum
			if i > 0 {
				if to.Ranges[i].From, err = bson.Marshal(bson.D{{Key: "_id", Value: r.From}}); err != nil {
					return nil, "", err
				}
			}
		}
		body.Collections = append(body.Collections, to)
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, "", err
	}
	checksum = checksumOf(raw)
	text, err = json.Marshal(fileJSON{fileFormat, fileVersion, checksum, raw})
	return append(text, '\n'), checksum, err
}

func checksumOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Parse parses the output of Marshal. It returns an error for damaged or truncated files.
func Parse(text []byte) (f *File, checksum string, err error) {
	var from fileJSON
	if err := json.Unmarshal(text, &from); err != nil {
		return nil, "", fmt.Errorf("it is not a file of shardsh verify: %w", err)
	}
	switch {
	case from.Format != fileFormat:
		return nil, "", errors.New("it is not a file of shardsh verify")
	case from.Version != fileVersion:
		return nil, "", fmt.Errorf("it has version %d, and this program reads version %d", from.Version, fileVersion)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, from.Body); err != nil {
		return nil, "", err
	}
	if checksumOf(compact.Bytes()) != from.Checksum {
		return nil, "", errors.New("it was changed or damaged: its checksum is another one")
	}
	var body bodyJSON
	if err := json.Unmarshal(from.Body, &body); err != nil {
		return nil, "", err
	}
	f = &File{AgainstChecksum: body.Against}
	for _, c := range body.Collections {
		to, err := c.collection()
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", c.Namespace, err)
		}
		if f.Collection(to.Namespace) != nil {
			return nil, "", fmt.Errorf("%s is in it twice", to.Namespace)
		}
		f.Collections = append(f.Collections, to)
	}
	return f, from.Checksum, nil
}

// collection converts c, and checks the invariants of a Scan.
func (c collectionJSON) collection() (to Collection, err error) {
	to = Collection{
		Namespace: c.Namespace, UUID: c.UUID, Began: c.Began, Ended: c.Ended,
		Since:  bson.Timestamp{T: c.Since.Seconds, I: c.Since.Increment},
		Until:  bson.Timestamp{T: c.Until.Seconds, I: c.Until.Increment},
		Digest: Digest{DocsPerRange: c.PerRange, Finished: c.Finished, Ranges: make([]Range, len(c.Ranges))},
	}
	if len(c.Ranges) == 0 || len(c.Ranges) > maxRanges {
		return to, fmt.Errorf("%d ranges are not possible", len(c.Ranges))
	}
	for i, r := range c.Ranges {
		to.Ranges[i].Sum = r.Sum
		if r.Docs < 0 || r.Bytes < 0 || i == 0 && len(r.From) > 0 {
			return to, fmt.Errorf("range %d is not possible", i)
		}
		if i == 0 {
			continue
		}
		if err := bson.Raw(r.From).Validate(); err != nil {
			return to, fmt.Errorf("range %d: %w", i, err)
		}
		to.Ranges[i].From = bson.Raw(r.From).Lookup("_id")
		if to.Ranges[i].From.Type == 0 || i > 1 && keyorder.Compare(to.Ranges[i-1].From, to.Ranges[i].From) >= 0 {
			return to, fmt.Errorf("range %d does not begin after the previous range", i)
		}
	}
	return to, nil
}
