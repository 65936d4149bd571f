package diagnosis

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shardsh/balancer/policy"
)

// runbook is what a page says of a code beside its definition. The commands are run by the
// test of the docs, on its cluster.
type runbook struct {
	see    string // in a shell, beside shardsh why; "js: …" at the prompt
	do     string // the same, where a command says it
	before string // what makes do possible
	dont   string
}

const (
	whyCommand   = "shardsh why mongodb://host:27017"
	onTheCluster = " mongodb://host:27017"
	waitForIt    = "Don't switch the balancer off and on, or restart anything: it gets no quicker by that."
	whoStopped   = "Don't switch it on before you know who has switched it off, and why: a backup or an upgrade may be under way."
)

// runbooks has every code of Definitions.
func runbooks() map[Code]runbook {
	heat := "shardsh heat" + onTheCluster + " --ns shop.orders --for 1s"
	preflight := "shardsh drain" + onTheCluster + " --shard shard1 --preflight   # exit code 3"
	entries := func(log, what string) string {
		return fmt.Sprintf(`js: db.getSiblingDB("config").%s.find({ what: "%s" }).sort({ time: -1 }).limit(5)`, log, what)
	}
	const zones = `js: db.getSiblingDB("config").tags.find()`
	const chunks = "shardsh map mongodb://host:27017 --ns shop.orders"
	return map[Code]runbook{
		ConfigUnreachable: {see: "shardsh doctor" + onTheCluster,
			dont: "Don't restart routers or shards: they serve what they know. Don't force a reconfiguration before you know which " +
				"members are lost for good."},
		SettingsUnreadable: {see: `js: db.getSiblingDB("config").settings.find()`,
			dont: "Don't delete documents of config.settings that the finding does not name: their settings would fall back to defaults."},
		ShardUnreachable: {see: "shardsh doctor" + onTheCluster,
			dont: "Don't remove the shard, or drain it, because it is down: its data is nowhere else."},
		KnownFault: {dont: "Don't mute it with --advisories before you have read what it does."},
		ShardSlow: {see: "shardsh watch" + onTheCluster + " --once",
			dont: "Don't move more chunks to relieve it while it is slow: migrations are load, too."},
		DuplicateMachineIDs: {see: entries("actionlog", "balancer.round"), dont: waitForIt},
		BalancerOff:         {see: "shardsh history" + onTheCluster, do: "js: sh.startBalancer()", dont: whoStopped},
		RoundsFailing:       {see: entries("actionlog", "balancer.round"), dont: waitForIt},
		MigrationsFailing: {see: entries("changelog", "moveChunk.from"),
			dont: "Don't move the chunks by hand: what stops the balancer stops that, too."},
		LeftPaused: {see: "shardsh history" + onTheCluster, do: "shardsh balance" + onTheCluster + " --give-back",
			dont: "Don't do it while a run is running: it needs the collections disabled. The finding says whether it is gone."},
		NotBalancedDisabled: {see: "shardsh history" + onTheCluster, do: `js: sh.enableBalancing("shop.orders")`, dont: whoStopped},
		BalanceUnknown: {see: "shardsh doctor" + onTheCluster,
			dont: "Don't give the user of a monitor more than the role shardshLook has."},
		JumboChunks: {see: chunks, do: `js: sh.splitFind("shop.orders", { customer: 100 })`,
			dont: "Don't clear the flag of a chunk that is still too large: it comes back. Don't move it by force in busy hours: that blocks " +
				"writes to it."},
		ShardKeyIndexMissing: {see: `js: db.getSiblingDB("shop").orders.getIndexes()`,
			do:   `js: db.getSiblingDB("shop").orders.createIndex({ customer: 1 }); sh.enableBalancing("shop.orders")`,
			dont: "Don't drop an index on a shard key, or hide it, on any shard."},
		ZoneDraining: {see: zones, do: `js: sh.addShardToZone("shard2", "EU")`,
			dont: "Don't remove the ranges to let the drain end: the data would go to any shard."},
		ZoneRangesOverlap: {see: zones, do: `js: sh.removeRangeFromZone("shop.orders", { customer: 0 }, { customer: 100 })`,
			before: `sh.addShardToZone("shard1", "EU"); sh.updateZoneKeyRange("shop.orders", { customer: 0 }, { customer: 100 }, "EU")`,
			dont:   "Don't change config.tags directly."},
		ZoneEndsEarly: {see: zones, dont: "Don't change config.tags directly."},
		DrainNeedsOperator: {see: whyCommand + " --shard shard1", do: `js: sh.movePrimary("app", "shard1")`,
			dont: "Don't move primaries while applications write to unsharded collections of the database: releases before 7.0 lose such " +
				"writes."},
		HotShard: {see: heat, do: "shardsh balance" + onTheCluster + " --ns shop.orders --goal load --dry-run   # counts for a minute",
			dont: "Don't add a shard for it: the balancer evens out bytes, and the load stays where it is."},
		HotKey:       {see: heat, dont: "Don't split or move the chunk: one key lies on one shard."},
		HotChunk:     {see: heat, dont: "Don't move it without splitting it: the shard that gets it is the hot one then."},
		MonotonicKey: {see: heat, dont: "Don't move the chunk at the end again and again: the next inserts go where it is."},
		Scatter:      {see: heat, dont: "Don't add shards for it: each query goes to all of them."},
		PlanStuck: {see: "shardsh plan" + onTheCluster,
			dont: "Don't wait for it: as things stand the balancer does not get further."},
		PlanLimited: {see: "shardsh plan" + onTheCluster, dont: "Don't raise the limit in a journal that is under way: make a new plan."},
		NoPlan:      {see: preflight, dont: "Don't go past it with --force: there is nothing to do that would lead to the goal."},
		LastShard:   {see: preflight, dont: "Don't stop the shard's servers: its data is nowhere else."},
		OnlyShardOfZone: {see: preflight, do: `js: sh.addShardToZone("shard2", "EU")`,
			dont: "Don't remove the zone's ranges if they are there by law or contract."},
		ChunkUnmovable: {see: chunks, dont: "Don't move it by force in busy hours: that blocks writes to it for as long as it takes."},
		RecipientIndexMissing: {see: `js: db.getSiblingDB("shop").orders.getIndexes()`,
			do:   `js: db.getSiblingDB("shop").orders.createIndex({ customer: 1 })`,
			dont: "Don't create it on one shard directly: create it through a router, which does it on all."},
		BalancerActive: {see: "shardsh watch" + onTheCluster + " --once",
			dont: "Don't let both work on a collection: they undo each other's moves."},
		LeaseHeld: {see: "shardsh history" + onTheCluster,
			dont: "Don't delete the document of shardsh.leases: the run that holds it goes on, and two would change the cluster."},
		Quiesced: {see: "shardsh history" + onTheCluster,
			dont: "Don't start the balancer under a backup: what it moves is in the backup twice, or not at all."},
		LittleRoom: {see: "shardsh check" + onTheCluster + " --rules disk",
			dont: "Don't delete files of the data directory. Don't compact in busy hours."},
		PrivilegeMissing: {see: "shardsh doctor" + onTheCluster, dont: "Don't run it as root instead: the role has what it needs."},
		WindowTimeZoneUnknown: {see: whyCommand + " --time-zone Europe/Berlin",
			dont: "Don't move the window for it: the servers know their time."},
		RunsPaused: {see: "shardsh history" + onTheCluster, do: "shardsh pause" + onTheCluster + " --end",
			dont: "Don't end somebody else's pause during an incident: ask who has set it."},
		VersionChanging: {see: "shardsh check" + onTheCluster + " --rules versions",
			dont: "Don't start drains or balancing before it has ended."},
		PausedByRun:         {see: "shardsh history" + onTheCluster, dont: "Don't enable the collections while the run goes on."},
		NotBalancedPaused:   {see: "shardsh history" + onTheCluster, dont: "Don't enable the collections while the run goes on."},
		NotBalanced:         {see: "shardsh forecast" + onTheCluster, dont: waitForIt},
		Defragmenting:       {see: `js: sh.balancerCollectionStatus("shop.orders")`, dont: "Don't stop it to be balanced sooner: it is balanced afterwards."},
		DefragmentationIdle: {see: `js: sh.balancerCollectionStatus("shop.orders")`, dont: waitForIt},
		Orphans: {see: "shardsh check" + onTheCluster + " --rules orphans",
			dont: "Don't delete orphans by hand, and don't lower orphanCleanupDelaySecs while long queries read from secondaries."},
		ZoneWithoutRanges: {see: zones, do: `js: sh.updateZoneKeyRange("shop.orders", { customer: 0 }, { customer: 100 }, "EU")`,
			before: `sh.addShardToZone("shard0", "EU")`, dont: "Don't expect data to move to its shards before it has a range."},
		ZoneWithoutData: {see: zones, dont: "Don't remove the range before you know whether its data is yet to come."},
		Draining:        {see: "shardsh forecast" + onTheCluster, dont: "Don't stop the shard's servers before the draining is complete."},
		ConfigShardLeaves: {see: whyCommand + " --shard shard1",
			dont: "Don't stop it: it is a config server still."},
		DrainComplete: {see: whyCommand + " --shard shard1",
			dont: "Don't stop its servers before it is removed, and not before backups know that it is gone."},
		MigrationUnderWay:    {see: "shardsh watch" + onTheCluster + " --once", dont: "Don't kill its operations on a shard."},
		MoveWaitsForDeletion: {see: "shardsh check" + onTheCluster + " --rules deletions", dont: waitForIt},
		CountsUneven:         {see: chunks, dont: "Don't move chunks to make their numbers equal: the balancer moves data, and would move it back."},
		BalancesByCount:      {see: chunks, dont: "Don't move chunks by hand: the balancer moves others back."},
		UnshardedData:        {see: "shardsh report" + onTheCluster + " --quick -o report.html", dont: "Don't move databases in busy hours."},
		MixedVersions: {see: `js: db.getSiblingDB("config").mongos.find()`,
			dont: "Don't raise the feature compatibility version before all members are upgraded."},
		NotRead: {see: "shardsh doctor" + onTheCluster, dont: "Don't take what is missing for well."},

		WindowShut:          {see: `js: sh.getBalancerState()`, dont: "Don't remove the window for one collection: what is urgent can be moved by hand."},
		BalancingOff:        {see: "shardsh history" + onTheCluster, do: `js: sh.enableBalancing("shop.orders")`, dont: whoStopped},
		MigrationsForbidden: {see: "shardsh history" + onTheCluster, do: `js: sh.enableMigrations("shop.orders")`, dont: whoStopped},
		ChunkOperationsForbidden: {see: "shardsh history" + onTheCluster,
			dont: "Don't allow them again while the operation that has forbidden them goes on."},
		Resharding: {see: "shardsh watch" + onTheCluster + " --once", dont: "Don't abort it to have chunks moved: it copies everything again."},
		ZoneWithoutShards: {see: zones, do: `js: sh.addShardToZone("shard1", "EU")`,
			dont: "Don't remove the zone's ranges if they are there by law or contract."},
		UnalignedZones: {see: zones, dont: waitForIt},
		NoSizeEntry:    {see: whyCommand + " --ns shop.orders", dont: "Don't write to config.collections."},
		NoRecipient:    {see: whyCommand + " --ns shop.orders", dont: "Don't move chunks against their zones: they are moved back."},
		ShardAtMaxSize: {see: `js: db.getSiblingDB("config").shards.find()`, dont: "Don't raise maxSize above what the volume has."},
		NoRoom: {see: "shardsh check" + onTheCluster + " --rules disk",
			dont: "Don't delete files of the data directory. Don't compact in busy hours."},
		LargestOutsideZone: {see: whyCommand + " --ns shop.orders", dont: "Don't move chunks against their zones: they are moved back."},
		OnlyJumboChunks: {see: chunks, do: `js: sh.splitFind("shop.orders", { customer: 100 })`,
			dont: "Don't clear the flags of chunks that are still too large: they come back."},
		BelowThreshold: {see: whyCommand + " --ns shop.orders", dont: "Don't lower the chunk size for it: there would be more moves for ever."},
		NoChunkInZone:  {see: zones, dont: "Don't move chunks against their zones: they are moved back."},
	}
}

const runbookPages = "../../docs/runbooks"

// TestRunbooks holds docs/runbooks to the tables: a page for each code. go test -run Runbooks
// -update writes them.
func TestRunbooks(t *testing.T) {
	pages, books := map[string]string{}, runbooks()
	ran := map[string]bool{}
	index := "# Runbooks\n\nWhat do I do about a finding? A page for each code of [findings.md](../findings.md), written from the same table.\n\n"
	for _, d := range Definitions() {
		book, is := books[d.Code]
		if !is || book.dont == "" {
			t.Errorf("%s has no runbook, or one that does not say what not to do", d.Code)
		}
		delete(books, d.Code)
		pages[string(d.Code)+".md"] = book.page(d, ran)
		index += fmt.Sprintf("- [%s](%s.md): %s\n", d.Code, d.Code, d.Severity)
	}
	for code := range books {
		t.Errorf("%s is not a code", code)
	}
	pages["README.md"] = index
	there, err := filepath.Glob(filepath.Join(runbookPages, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range there {
		if _, wanted := pages[filepath.Base(path)]; !wanted {
			t.Errorf("%s is of no code: remove it", path)
		}
	}
	for name, want := range pages {
		path := filepath.Join(runbookPages, name)
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the tables say: rewrite it with -update", path)
		}
	}
}

// page is the page of a code. What ran says that an earlier page runs is not run again.
func (r runbook) page(d Definition, ran map[string]bool) string {
	var b strings.Builder
	meaning, remedy := d.Meaning, d.Remedy
	for _, info := range policy.Codes() {
		if info.Code == d.Code {
			meaning, remedy = info.Meaning, info.Remedy
		}
	}
	fmt.Fprintf(&b, "# %s\n\n%s\n\nSeverity: %s. Who acts: %s.\n\n## How to see it\n", d.Code, meaning, d.Severity, d.Actor)
	see := r.see
	if see == "" {
		see = whyCommand
	}
	if !strings.HasPrefix(see, whyCommand) {
		writeBlock(&b, whyCommand, "", ran)
	}
	writeBlock(&b, see, "", ran)
	fmt.Fprintf(&b, "\nIn Prometheus: `shardsh_findings{code=\"%s\"}`.\n\n## What to do\n\n%s\n", d.Code, remedy)
	if r.do != "" {
		writeBlock(&b, r.do, r.before, ran)
	}
	fmt.Fprintf(&b, "\n## What not to do\n\n%s\n", r.dont)
	return b.String()
}

func writeBlock(b *strings.Builder, command, before string, ran map[string]bool) {
	lang := "sh"
	if text, js := strings.CutPrefix(command, "js: "); js {
		lang, command = "js", strings.ReplaceAll(text, "; ", ";\n")+";"
	}
	b.WriteString("\n")
	if ran[command] {
		b.WriteString("<!-- not run: another runbook has it -->\n")
	} else if before != "" {
		fmt.Fprintf(b, "<!-- before: %s -->\n", before)
	}
	if strings.Contains(command, "# counts") && !ran[command] {
		b.WriteString("<!-- not run: takes a minute -->\n")
	}
	ran[command] = true
	fmt.Fprintf(b, "```%s\n%s\n```\n", lang, command)
}
