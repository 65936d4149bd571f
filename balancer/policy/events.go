package policy

import (
	"fmt"
	"log/slog"

	"shardsh/balancer/catalog"
)

// EventID is the server's stable id of a log event.
type EventID int

// These are the log events of the selection (rules/01-selection §6). The server logs the two debug
// events for every chunk; here they occur once for all chunks that a shard owns in a zone.
const (
	EventNoDrainRecipient  EventID = 21889
	EventDrainStuck        EventID = 21890
	EventJumboOutsideZone  EventID = 21891
	EventNoZoneRecipient   EventID = 21892
	EventZoneWithoutShards EventID = 21893
	EventNoSizeRecipient   EventID = 6581600
	EventOnlyJumboChunks   EventID = 6581602
)

// Event is an event that the server would log. Its attributes depend on its id.
type Event struct {
	ID        EventID
	Namespace string
	Shard     catalog.ShardID
	Zone      string // NoZone for chunks outside all zones
	ChunkMin  catalog.Key
	Flagged   int  // number of chunks with the jumbo flag
	IsWarning bool // the event is a warning in this release
}

// eventKind is the form of an event in a log.
type eventKind struct {
	level                       slog.Level
	text                        string
	shard, zone, chunk, flagged bool
}

func (e Event) kind() eventKind {
	switch e.ID {
	case EventNoDrainRecipient:
		return eventKind{level: slog.LevelDebug, shard: true, zone: true,
			text: "no shard can receive the chunks of a draining shard"}
	case EventDrainStuck:
		return eventKind{level: slog.LevelWarn, shard: true, flagged: true,
			text: "no chunk can be moved off a draining shard"}
	case EventJumboOutsideZone:
		return eventKind{level: slog.LevelWarn, chunk: true, zone: true,
			text: "chunk outside its zone can't be moved because it is flagged jumbo"}
	case EventNoZoneRecipient:
		return eventKind{level: slog.LevelDebug, shard: true, zone: true,
			text: "no shard of the zone can receive the chunks outside it"}
	case EventZoneWithoutShards:
		return eventKind{level: slog.LevelWarn, zone: true,
			text: "zone has ranges but no shards"}
	case EventNoSizeRecipient:
		return eventKind{level: slog.LevelInfo, zone: true,
			text: "no shard of the zone can receive data"}
	case EventOnlyJumboChunks:
		return eventKind{level: slog.LevelWarn, shard: true, zone: true, flagged: true,
			text: "all chunks of the largest shard in the zone are flagged jumbo"}
	}
	return eventKind{text: fmt.Sprintf("event %d", e.ID)}
}

// Level returns the severity of the event.
func (e Event) Level() slog.Level {
	if e.IsWarning {
		return slog.LevelWarn
	}
	return e.kind().level
}

// Text returns the message without the attributes.
func (e Event) Text() string { return e.kind().text }

// Attrs returns the attributes of the event, beginning with its id and collection.
func (e Event) Attrs() []slog.Attr {
	k := e.kind()
	attrs := []slog.Attr{slog.Int("id", int(e.ID)), slog.String("ns", e.Namespace)}
	if k.shard {
		attrs = append(attrs, slog.String("shard", string(e.Shard)))
	}
	if k.chunk {
		attrs = append(attrs, slog.String("chunkMin", e.ChunkMin.String()))
	}
	if k.zone {
		attrs = append(attrs, slog.String("zone", e.Zone))
	}
	if k.flagged {
		attrs = append(attrs, slog.Int("flagged", e.Flagged))
	}
	return attrs
}
