{{- define "shardsh.labels" -}}
app.kubernetes.io/name: shardsh
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "shardsh.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* What every pod may not do: no token, no root, no privileges, no files to write. */}}
{{- define "shardsh.pod" -}}
automountServiceAccountToken: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{- define "shardsh.container" -}}
image: {{ include "shardsh.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
{{- end }}

{{- define "shardsh.mounts" -}}
- name: clusters
  mountPath: /etc/shardsh/clusters
  readOnly: true
{{- if .Values.passwordSecret }}
- name: passwords
  mountPath: /etc/shardsh/passwords
  readOnly: true
{{- end }}
{{- end }}

{{- define "shardsh.volumes" -}}
- name: clusters
  configMap:
    name: {{ .Release.Name }}-clusters
{{- if .Values.passwordSecret }}
- name: passwords
  secret:
    secretName: {{ .Values.passwordSecret }}
    defaultMode: 0440
{{- end }}
{{- end }}
