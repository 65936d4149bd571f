// Package deploy holds what runs shardsh elsewhere: a Helm chart, the same as plain
// manifests, systemd units, and steps for GitHub and GitLab. docs/deploy.md says how
// they are used; there is no code but the tests.
package deploy
