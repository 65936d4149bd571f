// Package deploy holds the files for running shardsh in other environments: a Helm chart, the same as
// plain manifests, systemd units, and steps for GitHub and GitLab. docs/deploy.md describes their use.
// The package has no code except tests.
package deploy
