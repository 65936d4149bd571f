package keyadvice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// Advice is the advice on the shard key of a collection.
type Advice struct {
	Namespace string `json:"ns"`
	// Verdict is the advice in one or two sentences.
	Verdict string `json:"verdict"`
	// Best is the recommended key; nil when no key is suitable.
	Best *Candidate `json:"best"`
	// Candidates are the best keys, and all keys that the user asked about, the best first.
	Candidates []Candidate `json:"candidates"`
	// Commands are the commands for the recommended key, in order; none if it is no better than the
	// current one.
	Commands []string `json:"commands"`
	// Basis names the sources of the advice. Notes are further remarks.
	Basis []string `json:"basis"`
	Notes []string `json:"notes,omitempty"`
}

// MaxShown is the maximum number of candidates besides those that the user asked about.
const MaxShown = 6

// keepCurrentRatio is the ratio to the best score from which the advice keeps the current key: a smaller gain
// does not justify a resharding.
const keepCurrentRatio = 0.85

// Rank returns all candidates, the best first.
func Rank(f Facts, keys []ShardKey) []Candidate {
	j := newJudge(f)
	var list []Candidate
	for _, k := range keys {
		list = append(list, j.judge(k))
	}
	slices.SortStableFunc(list, func(a, b Candidate) int { return cmp.Compare(b.Score, a.Score) })
	return list
}

// Advise ranks the keys that the user asked about or, without any, the result of Propose.
func Advise(f Facts, asked []ShardKey) Advice {
	if len(f.Queries) == 0 {
		f.QueriesFrom = QueriesGuessed
		if slices.ContainsFunc(f.Indexes, func(x Index) bool { return x.UseCount > 0 }) {
			f.QueriesFrom = QueriesCounted
		}
	}
	keys := asked
	if len(asked) == 0 {
		keys = Propose(f)
	}
	ranked := Rank(f, keys)
	a := Advice{Namespace: f.Namespace, Basis: basis(f), Notes: f.Notes}
	if len(ranked) == 0 || len(f.Sample.Docs) == 0 {
		a.Verdict = fmt.Sprintf("%s has no documents to rate a key with", f.Namespace)
		if f.Docs > 0 {
			a.Verdict = fmt.Sprintf("a sample of %s has no documents, though it counts %s: no key can be rated", f.Namespace,
				humanize.Count(f.Docs, "document"))
		}
		return a
	}
	best := ranked[0]
	for i, c := range ranked {
		if c.Key.Equal(f.Current) && c.Score >= keepCurrentRatio*best.Score && c.Score > 0 {
			best = ranked[i]
		}
	}
	for i, c := range ranked {
		if best.Impossible == "" && !c.Key.Equal(best.Key) {
			ranked[i].Drawback = c.disadvantage(best)
		}
	}
	a.Candidates = ranked
	if len(asked) == 0 {
		a.Candidates = shownCandidates(f, ranked)
	}
	current := currentCandidate(f, ranked)
	if a.Verdict = verdict(f, best, current, len(asked) > 0); best.Score > 0 {
		a.Best = &best
	}
	if best.Score > current.Score {
		a.Commands = commands(f, best)
	}
	a.Notes = append(a.Notes, notes(f, best)...)
	if len(asked) > 0 {
		a.Notes = append(a.Notes, betterKeyNotes(f, best)...)
	}
	return a
}

// currentCandidate returns the rating of the current key, about which the user may not have asked; zero
// for a collection that is not sharded.
func currentCandidate(f Facts, ranked []Candidate) Candidate {
	if len(f.Current) == 0 {
		return Candidate{}
	}
	if i := slices.IndexFunc(ranked, func(c Candidate) bool { return c.Key.Equal(f.Current) }); i >= 0 {
		return ranked[i]
	}
	return Rank(f, []ShardKey{f.Current})[0]
}

// betterKeyNotes returns a note on a clearly better key that the user did not ask about.
func betterKeyNotes(f Facts, than Candidate) []string {
	ranked := Rank(f, Propose(f))
	if len(ranked) == 0 || than.Score > keepCurrentRatio*ranked[0].Score {
		return nil
	}
	return []string{fmt.Sprintf("%s would be better: its score is %.0f, not %.0f",
		ranked[0].Key, ranked[0].Score, than.Score)}
}

// shownCandidates returns the candidates to show: the best ones, and the current key.
func shownCandidates(f Facts, ranked []Candidate) []Candidate {
	list := slices.Clone(ranked[:min(MaxShown, len(ranked))])
	for _, c := range ranked[len(list):] {
		if c.Key.Equal(f.Current) {
			list = append(list, c)
		}
	}
	return list
}

func basis(f Facts) []string {
	list := []string{fmt.Sprintf("%s, %s; rated for %s on %s with chunks of %s",
		humanize.Count(f.Docs, "document"), humanize.Bytes(f.Bytes), humanize.Bytes(f.ratedBytes()),
		humanize.Count(f.shards(), "shard"), humanize.Bytes(f.ChunkBytes))}
	measured := 0
	for _, m := range f.Measurements {
		if m.Docs > 0 {
			measured++
		}
	}
	sample := fmt.Sprintf("values of a sample of %s", humanize.Count(int64(len(f.Sample.Docs)), "document"))
	if int64(len(f.Sample.Docs)) >= f.Docs {
		sample = "values of all documents"
	}
	if measured > 0 {
		sample += fmt.Sprintf("; of %s by analyzeShardKey", humanize.Count(int64(measured), "key"))
	}
	list = append(list, sample)
	if len(f.Sample.Arrival) == 0 {
		list = append(list, "the insert order is unknown")
	}
	return append(list, map[QuerySource]string{
		QueriesGiven:   "queries as given",
		QueriesSampled: "queries that the cluster sampled (configureQueryAnalyzer)",
		QueriesCounted: "queries guessed from how often each index was used ($indexStats)",
		QueriesGuessed: "queries guessed from the indexes, whose use is unknown; give the real ones with {queries: " +
			"[...]}",
	}[f.QueriesFrom])
}

func verdict(f Facts, best, current Candidate, asked bool) string {
	among := ""
	if asked {
		among = " of those asked about"
	}
	switch {
	case best.Score == 0:
		return fmt.Sprintf("none of these keys can be the shard key of %s", f.Namespace)
	case best.Key.Equal(f.Current):
		return fmt.Sprintf("keep %s, which is %s: no other key%s is so much better that moving the data would pay", best.Key,
			best.Grade, among)
	case len(f.Current) > 0 && current.Score >= best.Score:
		return fmt.Sprintf("%s is %s, but no better than %s, by which %s is sharded", best.Key, best.Grade, f.Current,
			f.Namespace)
	case len(f.Current) > 0 && current.Score >= keepCurrentRatio*best.Score:
		return fmt.Sprintf("%s is %s, but not so much better than %s, by which %s is sharded, that moving the data would pay",
			best.Key, best.Grade, f.Current, f.Namespace)
	case len(f.Current) > 0:
		return fmt.Sprintf("%s is %s and better than %s, by which %s is sharded", best.Key, best.Grade, f.Current,
			f.Namespace)
	case best.Grade == Poor:
		return fmt.Sprintf("no good key%s: %s is the best of them, and poor; read why before you use it", among, best.Key)
	}
	return fmt.Sprintf("shard %s by %s, which is %s", f.Namespace, best.Key, best.Grade)
}

func notes(f Facts, best Candidate) (list []string) {
	if isGridFS(f) {
		list = append(list, "these are the chunks of GridFS: {files_id: 1, n: 1} keeps a file together and serves all that "+
			"drivers ask, and its unique index allows no hash; files_id grows, so new files go to one shard at a time")
	}
	if len(f.Current) > 0 && !f.Release.FCVAtLeast(catalog.Release50) && !best.Key.Equal(f.Current) {
		list = append(list, "before release 5.0 a collection can't be resharded: its documents have to be copied into "+
			"another one")
	}
	if best.Key[0].Name != "_id" && best.Score > 0 {
		list = append(list, "with a key that does not begin with _id no index keeps _id unique over all shards: "+
			"your programs have to, as drivers do where they make it")
	}
	return list
}

// isGridFS reports whether the collection holds file contents of GridFS.
func isGridFS(f Facts) bool {
	if !strings.HasSuffix(f.Namespace, ".chunks") || len(f.Sample.Docs) == 0 {
		return false
	}
	doc := f.Sample.Docs[0]
	_, errID := doc.LookupErr("files_id")
	_, errN := doc.LookupErr("n")
	return errID == nil && errN == nil
}
