package mock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/safefile"
)

// Topology is the initial content of a mock cluster, as described by a topology file. docs/topology.md
// lists all fields.
type Topology struct {
	// Routers is the number of mongos; 0 counts as 1.
	Routers int `json:"routers"`
	// TimeZone is the time zone of the config servers, such as Europe/Berlin. If it is empty, it is that
	// of the start time: this machine's, or UTC with a seed.
	TimeZone    string               `json:"timeZone,omitempty"`
	Shards      []TopologyShard      `json:"shards"`
	Settings    TopologySettings     `json:"settings"`
	Databases   []TopologyDatabase   `json:"databases"`
	Collections []TopologyCollection `json:"collections"`
}

// TopologyShard is one shard. The default Host is generated.
type TopologyShard struct {
	ID       string   `json:"id"`
	Host     string   `json:"host"`
	Zones    []string `json:"zones"`
	Draining bool     `json:"draining"`
	// MaxSizeMB is the maximum size of releases up to 5.0.
	MaxSizeMB int64 `json:"maxSizeMB"`
	// Disk is the size of the shard's volume, a number or a string with a unit; the default is ample.
	Disk json.RawMessage `json:"disk,omitempty"`
	// SecondaryLag is the lag of the shard's second node, such as "10s"; empty for no second node.
	SecondaryLag string `json:"secondary,omitempty"`
}

// TopologySettings are the documents of config.settings that a topology can set.
type TopologySettings struct {
	ChunkSizeMB int64           `json:"chunkSizeMB"`
	Balancer    json.RawMessage `json:"balancer"`
}

// TopologyDatabase names a database's primary shard.
type TopologyDatabase struct {
	Name    string `json:"name"`
	Primary string `json:"primary"`
}

// TopologyCollection is a sharded collection with its zones and chunks. Keys and bounds are Extended
// JSON.
type TopologyCollection struct {
	Namespace   string          `json:"ns"`
	Key         json.RawMessage `json:"key"`
	Unique      bool            `json:"unique"`
	ChunkSizeMB int64           `json:"chunkSizeMB"`
	NoBalance   bool            `json:"noBalance"`
	Zones       []TopologyZone  `json:"zones"`
	Chunks      []TopologyChunk `json:"chunks"`
}

// TopologyZone is a range assigned to a zone.
type TopologyZone struct {
	Zone string          `json:"zone"`
	Min  json.RawMessage `json:"min"`
	Max  json.RawMessage `json:"max"`
}

// TopologyChunk is a chunk with its virtual data. Without min, a chunk begins where the previous one
// ends (the first at MinKey). Without max, it ends where the next one begins (the last at MaxKey).
type TopologyChunk struct {
	Min   json.RawMessage `json:"min"`
	Max   json.RawMessage `json:"max"`
	Shard string          `json:"shard"`
	Jumbo bool            `json:"jumbo"`
	// Bytes is a number or a string with a unit: "10GB", "512MiB".
	Bytes json.RawMessage `json:"bytes"`
	Docs  int64           `json:"docs"`
}

// parseBytes parses a size: a number, or a string with a unit (decimal KB to PB, binary KiB to PiB). A
// missing size is 0.
func parseBytes(data json.RawMessage) (int64, error) {
	if !isPresent(data) {
		return 0, nil
	}
	if data[0] != '"' {
		if n, err := strconv.ParseInt(string(data), 10, 64); err == nil {
			if n < 0 {
				return 0, fmt.Errorf("a size can't be negative: %d", n)
			}
			return n, nil
		}
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return 0, fmt.Errorf("%s is neither a number of bytes nor a string such as \"10GB\"", data)
	}
	return catalog.ParseSize(text)
}

// DefaultTopology returns n empty shards named shard0, shard1, ….
func DefaultTopology(n int) *Topology {
	t := &Topology{}
	for i := range n {
		t.Shards = append(t.Shards, TopologyShard{ID: fmt.Sprintf("shard%d", i)})
	}
	return t
}

const (
	// maxTopologyBytes is the maximum size of a topology file, enough for ten million chunks.
	maxTopologyBytes = 512 << 20
	// pipeTimeout is the time limit for reading a topology from a pipe.
	pipeTimeout = 30 * time.Second
)

// ReadTopology reads a topology file. Errors name the file and the field.
func ReadTopology(path string) (*Topology, error) {
	data, err := safefile.Read(path, maxTopologyBytes, pipeTimeout)
	if err != nil {
		return nil, err
	}
	t, err := ParseTopology(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// ParseTopology parses a topology and makes the checks that are possible without building it. Errors
// name the field.
func ParseTopology(data []byte) (*Topology, error) {
	t := &Topology{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(t); err != nil {
		return nil, locateJSONError(data, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("unexpected data after the JSON value")
	}
	if t.Routers < 0 || t.Routers > MaxRouters {
		return nil, fmt.Errorf("routers: %d is not between 1 and %d", t.Routers, MaxRouters)
	}
	if _, err := catalog.ParseTimeZone(t.TimeZone); t.TimeZone != "" && err != nil {
		return nil, fmt.Errorf("timeZone: %w", err)
	}
	if len(t.Shards) == 0 {
		return nil, fmt.Errorf("shards: at least one is needed")
	}
	seen := map[string]bool{}
	for i, s := range t.Shards {
		if s.ID == "" || s.ID == string(configShard) || seen[s.ID] {
			return nil, fmt.Errorf("shards[%d].id: %q is empty, reserved or taken", i, s.ID)
		}
		seen[s.ID] = true
	}
	return t, nil
}

// locateJSONError adds the position to a JSON error.
func locateJSONError(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("line %d: %w", lineAt(data, syntax.Offset), err)
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: the JSON ends too early", lineAt(data, int64(len(data))))
	case errors.As(err, &mistyped) && mistyped.Field == "":
		return fmt.Errorf("expected an object, got %s (line %d)", mistyped.Value, lineAt(data, mistyped.Offset))
	case errors.As(err, &mistyped):
		return fmt.Errorf("%s: expected %s, got %s (line %d)", mistyped.Field, mistyped.Type, mistyped.Value,
			lineAt(data, mistyped.Offset))
	}
	return err
}

func lineAt(data []byte, offset int64) int {
	return 1 + strings.Count(string(data[:min(int(offset), len(data))]), "\n")
}

// isPresent reports whether a field is present and not null.
func isPresent(data json.RawMessage) bool { return len(data) > 0 && string(data) != "null" }

// parseDocument parses a document in Extended JSON.
func parseDocument(data json.RawMessage) (bson.Raw, error) {
	if doc, ok := parseNumberDocument(data); ok {
		return doc, nil
	}
	var doc bson.D
	if err := bson.UnmarshalExtJSON(data, false, &doc); err != nil {
		return nil, err
	}
	return bson.Marshal(doc)
}

// parseNumberDocument parses documents of the form {"field": 123}. Most bounds have this form, and a large
// topology has a million of them. It returns false for other documents, which the driver parses.
func parseNumberDocument(data []byte) (bson.Raw, bool) {
	name, rest, ok := bytes.Cut(data, []byte{':'})
	name, opened := bytes.CutPrefix(bytes.TrimSpace(name), []byte{'{'})
	rest, closed := bytes.CutSuffix(bytes.TrimSpace(rest), []byte{'}'})
	name, rest = bytes.TrimSpace(name), bytes.TrimSpace(rest)
	if !ok || !opened || !closed || len(name) < 3 || name[0] != '"' || name[len(name)-1] != '"' || len(rest) == 0 {
		return nil, false
	}
	name = name[1 : len(name)-1]
	for i, b := range name {
		if b < ' ' || b > '~' || b == '"' || b == '\\' || i == 0 && b == '$' {
			return nil, false
		}
	}
	if rest[0] != '-' && (rest[0] < '1' || rest[0] > '9') { // only numbers, but not 0 or -0
		return nil, false
	}
	n, err := strconv.ParseInt(string(rest), 10, 64)
	if err != nil || n == 0 {
		return nil, false
	}
	doc, err := document.Encode(bson.D{{Key: string(name), Value: document.SmallestInt(n)}})
	return doc, err == nil
}
