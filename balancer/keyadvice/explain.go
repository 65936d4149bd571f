package keyadvice

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// explain describes the numbers of a candidate in words, and names its main disadvantage.
func (j *judge) explain(c *Candidate) {
	if c.Impossible != "" {
		c.Reasons, c.Drawback = []string{c.Impossible}, c.Impossible
		return
	}
	least := math.Inf(1)
	add := func(left float64, format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		if c.Reasons = append(c.Reasons, text); left < least {
			least, c.Drawback = left, text
		}
	}
	for _, name := range c.BlockingIndexes {
		add(uniqueIndexFactor,
			"the unique index %s forbids it: unique indexes of a sharded collection begin with the whole key, unhashed", name)
	}
	if !c.fitsZones {
		add(outOfZoneFactor, "ranges are in zones by %s, and a key that does not begin with it knows no zones",
			strings.Join(j.facts.ZoneFields, ", "))
	}
	c.scoreFactors = []scoreFactor{{c.spreadFactor, j.spreadText(*c)}, {c.writeFactor, j.growthText(*c)},
		{c.queryFactor, j.queriesText(*c)}}
	add(c.spreadFactor, "%s", c.scoreFactors[0].text)
	if c.MissingShare >= 0.01 {
		add(1, "%s of the documents lack a field of it, or have null there: to the key that is one value",
			humanize.Percent(c.MissingShare))
	}
	add(c.writeFactor, "%s", c.scoreFactors[1].text)
	add(c.queryFactor, "%s", c.scoreFactors[2].text)
	if c.KeyUpdateShare > 0 {
		add(1-c.KeyUpdateShare/2, "%s of the writes change the key of a document, which may move it to another shard",
			humanize.Percent(c.KeyUpdateShare))
	}
	if c.Index == "" {
		add(1, "it needs an index first")
	}
}

// scoreFactor is one factor of a score, with its explanation.
type scoreFactor struct {
	factor float64
	text   string
}

// equalFactorRatio is the ratio from which two factors count as equal.
const equalFactorRatio = 0.98

// disadvantage names what a key lacks in comparison with another key.
func (c Candidate) disadvantage(best Candidate) string {
	if c.Impossible != "" || len(c.BlockingIndexes) > 0 || !c.fitsZones {
		return c.Drawback
	}
	least, text := equalFactorRatio, ""
	for i, p := range c.scoreFactors {
		if ratio := p.factor / best.scoreFactors[i].factor; ratio < least {
			least, text = ratio, p.text
		}
	}
	switch {
	case text != "":
		return text
	case c.Index == "" && best.Index != "":
		return "as good, but it needs an index first"
	case c.Key.hasHashed() && !best.Key.hasHashed():
		return "as good, but hashes keep no order"
	case len(c.Key) > len(best.Key):
		return "as good, with more fields than needed"
	}
	return "as good, or nearly so"
}

func (j *judge) spreadText(c Candidate) string {
	values := fmt.Sprintf("%s in %s documents", humanize.Count(c.Distinct, "value"), strconv.FormatInt(c.Documents, 10))
	if c.Distinct == c.Documents && c.Documents > 0 {
		values = fmt.Sprintf("no two of %d documents have the same value", c.Documents)
	}
	if c.JumboShare == 0 {
		if c.MostCommonShare*float64(c.Documents) >= 2 {
			values += fmt.Sprintf(", the most common one in %s of them", humanize.Percent(c.MostCommonShare))
		}
		return values + ": no value outgrows a chunk"
	}
	size := c.MostCommonShare * float64(j.facts.ratedBytes())
	text := fmt.Sprintf("%s; %s of the data has values that outgrow a chunk of %s: the most common one, %s, has %s, "+
		"that is %s of %s, in a jumbo chunk that nothing can split", values, humanize.Percent(c.JumboShare),
		humanize.Bytes(j.facts.ChunkBytes),
		c.mostCommonText, humanize.Percent(c.MostCommonShare), humanize.Bytes(int64(size)),
		humanize.Bytes(j.facts.ratedBytes()))
	if c.MostCommonShare*float64(j.facts.shards()) > 1 {
		text += ", and more than its shard's share"
	}
	return text
}

func (j *judge) growthText(c Candidate) string {
	r := "unknown"
	if c.Correlation != nil {
		r = fmt.Sprintf("%.2f", *c.Correlation)
	}
	shards := j.facts.shards()
	switch {
	case c.GrowingField == c.Key[0].Name && c.GrowingField != "":
		return fmt.Sprintf("it follows the insert order (correlation %s, from %.1f on that counts): all inserts go to "+
			"one shard", r, MinMonotonicCorrelation)
	case c.GrowingField != "" && c.InsertShards < float64(shards):
		return fmt.Sprintf("%s follows the insert order (correlation %s), so that inserts of one value before it go to "+
			"one chunk: they reach %.1f of %d shards", c.GrowingField, r, c.InsertShards, shards)
	case c.GrowingField != "":
		return fmt.Sprintf("%s follows the insert order, but there are enough values before it: inserts reach all %d "+
			"shards", c.GrowingField, shards)
	case c.InsertShards < float64(shards):
		return fmt.Sprintf("inserts reach %.1f of %d shards: the most common value gets too many", c.InsertShards, shards)
	case c.Key[0].Hashed:
		return fmt.Sprintf("its values are hashed: inserts reach all %d shards", shards)
	case c.Correlation == nil:
		return "whether it grows with time is unknown, as the insert order is"
	}
	return fmt.Sprintf("it does not follow the insert order (correlation %s): inserts reach all %d shards", r, shards)
}

func (j *judge) queriesText(c Candidate) string {
	if !c.queriesKnown {
		return "the queries are unknown"
	}
	from := map[QuerySource]string{
		QueriesGiven: "of the queries given", QueriesSampled: "of the queries sampled",
		QueriesCounted: "of what uses the indexes",
		QueriesGuessed: "of what the indexes stand for",
	}[j.facts.QueriesFrom]
	if d := j.facts.Measurements[c.Key.String()].QueryDistribution; d.Queries > 0 && j.facts.QueriesFrom != QueriesGiven {
		from = fmt.Sprintf("of the %s sampled", humanize.Count(d.Queries, "query"))
	}
	text := fmt.Sprintf("%s %s go to one shard, %s to some, %s to all", from,
		humanize.Percent(c.SingleShardShare), humanize.Percent(c.MultiShardShare),
		humanize.Percent(c.ScatterGatherShare))
	if c.Key.hasHashed() && c.ScatterGatherShare > 0 && len(c.Key) == 1 {
		text += "; hashes keep no order, so ranges are asked of all"
	}
	return text
}

// maxValueRunes is how much of a value is shown.
const maxValueRunes = 60

func documentText(doc bson.Raw) string {
	text := humanize.Literal(doc)
	if r := []rune(text); len(r) > maxValueRunes {
		return string(r[:maxValueRunes]) + "…"
	}
	return text
}

// valueText formats the values of some fields of a document.
func valueText(doc bson.Raw, names []string) string {
	value := bson.D{}
	for _, name := range names {
		v, err := doc.LookupErr(strings.Split(name, ".")...)
		if err != nil {
			v = bson.RawValue{Type: bson.TypeNull}
		}
		value = append(value, bson.E{Key: name, Value: v})
	}
	raw, err := bson.Marshal(value)
	if err != nil {
		return "?"
	}
	return documentText(raw)
}
