package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// newBasis returns the state of the cluster that a plan for some collections is based on.
func newBasis(s *catalog.Snapshot, names []string, g Goal) (Basis, error) {
	parts := s.Parts()
	b := Basis{
		ClusterID: parts.ClusterID, Source: parts.Source.Name, Time: s.Time(), Release: s.Release().String(),
		Hash: stateHash(s, names, g), Collections: []CollectionBasis{},
	}
	for _, ns := range names {
		c := s.Collection(ns)
		key, err := bson.MarshalExtJSON(c.Pattern.Doc(), true, false)
		if err != nil {
			return b, fmt.Errorf("plan: the shard key of %s: %w", ns, err)
		}
		version, _ := c.Version()
		b.Collections = append(b.Collections, CollectionBasis{
			Namespace: ns, UUID: humanize.UUID(c.UUID.Data), Key: json.RawMessage(key),
			Version: version.ChunkVersion, Chunks: int(c.Count().Chunks),
		})
	}
	return b, nil
}

// stateHash changes with the chunks, zones and flags of the collections, with the
// shards, and with the settings that choices depend on. Data that come and go do not
// change it, nor does the balancer's mode.
func stateHash(s *catalog.Snapshot, names []string, g Goal) string {
	h := hasher{sha256.New()}
	settings := s.Settings()
	h.add(s.Release(), g.Kind, g.Shard, settings.MaxChunkSizeBytes, settings.AttemptJumbo, settings.AutoMerge)
	for _, shard := range s.Shards() {
		zones := slices.Clone(shard.Zones)
		slices.Sort(zones)
		h.add(shard.ID, shard.Draining, shard.MaxSizeMB, len(zones), zones)
	}
	for _, ns := range names {
		c := s.Collection(ns)
		h.add(ns, humanize.UUID(c.UUID.Data), c.Epoch, c.Timestamp, c.Pattern, c.MaxChunkSizeBytes)
		h.add(c.NoBalance, c.AllowMigrations, c.PermitMigrations, c.ForbidsChunkOperations(s.Release()),
			c.EnableAutoMerge, c.Resharding)
		if version, read := c.Version(); read {
			h.add(version, c.Count().Chunks)
		}
		for _, id := range c.Owners() {
			n := c.CountOn(id)
			h.add(id, n.Chunks, n.Jumbo)
		}
		for _, r := range c.Zones.Ranges() {
			h.add(r.Zone, r.Min, r.Max)
		}
	}
	return h.hexDigits(hashLength)
}

// hashLength is the length of hashes, which is sufficient for uniqueness among the plans of one
// operator.
const hashLength = 16

// hasher hashes a sequence of values, each with a terminator.
type hasher struct{ hash.Hash }

func (h hasher) add(values ...any) {
	for _, v := range values {
		fmt.Fprintf(h, "%v\x00", v)
	}
}

func (h hasher) hexDigits(digits int) string { return hex.EncodeToString(h.Sum(nil))[:digits] }
