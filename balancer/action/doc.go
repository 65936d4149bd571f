// Package action implements the use cases of shardsh, one verb per file. Some verbs change a cluster,
// such as apply, balance and drain; others only read it, such as check, why and plan. The
// subcommands ("shardsh apply") and the helpers of sh (sh.apply) are two interfaces to this package:
// they read options into a struct, call Run, and show the result.
//
// A verb is a struct of options:
//
//   - its fields are the options, with the names that the interfaces have: the field
//     PauseBetween is --pause-between and pauseBetween. A field whose zero value is
//     not the default says so, and its default is a constant here;
//   - Validate refuses what makes no sense, before a cluster is reached. The error is
//     an *OptionError, whose text has the names of options as {pauseBetween}: each
//     interface spells them in its own way (SpellAsFlag, or as they are);
//   - Run(ctx, cluster, reporter) does it, and returns a result with the fields that
//     both interfaces show as JSON. It calls Validate first. What happens meanwhile goes
//     to the Reporter as Events; what the caller decides meanwhile is in Control;
//   - a verb that only looks runs on a Source, which is a cluster or a Snapshot.
//
// To add a verb: write its struct in a separate file, an Event for the progress that both interfaces
// show, a subcommand in cmd/shardsh and a helper in bindings/sh that fill the struct, and a row in the
// test of both interfaces, cmd/shardsh/actions_test.go, or looks_test.go for a verb that only reads.
// The logic of balancing is in the packages below; nothing here prints, reads flags or depends on
// JavaScript.
package action
