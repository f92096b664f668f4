/** Templates in forms that users have published; each must render as in Go. */
export const publicTemplates: Readonly<Record<string, string>> = {
  'log lines with times': `{{range .}}{{.Time.Format "2006-01-02 15:04:05"}} ({{.Level}}): {{.Message}}{{println}}{{end}}`,
  'report when something happened, else log lines': `{{- if .Report -}}
  {{- with .Report -}}
    {{- if ( or .Updated .Failed ) -}}
{{len .Scanned}} scanned, {{len .Updated}} updated, {{len .Failed}} failed
      {{- range .Updated}}
- {{.Name}} ({{.ImageName}}): {{.CurrentImageID.ShortID}} -> {{.LatestImageID.ShortID}}
      {{- end -}}
      {{- range .Failed}}
- {{.Name}}: {{.State}}: {{.Error}}
      {{- end -}}
    {{- end -}}
  {{- end -}}
{{- else -}}
  {{range .Entries -}}{{.Message}}{{"\\n"}}{{- end -}}
{{- end -}}`,
  'lines for a machine': `{{- range .Report.Updated }}updated|{{ .Name }}|{{ .CurrentImageID.ShortID }}
{{ end -}}{{- range .Report.Failed }}failed|{{ .Name }}|{{ .Error }}
{{ end -}}`,
  'one line with newlines in strings': `{{- with .Report }}{{- if or (gt (len .Updated) 0) (gt (len .Failed) 0) }}*Update*{{ "\\n" }}{{ len .Scanned }}/{{ .Updated | len }}/{{ len .Failed }} {{- if gt (len .Failed) 0 }} check{{- else }} ok{{- end }}{{- range .Updated }}{{ "\\n" }}• {{ .Name }}{{- end }}{{- end }}{{- end }}`,
  'variables over blocks': `{{- $n := 0 -}}{{- with .Report -}}{{- $n = len .Updated -}}{{- range $i, $c := .Updated -}}{{- if $i }}, {{ end -}}{{ $c.Name | ToUpper }}{{- end -}}{{- end -}}{{- if eq $n 0 -}}nothing{{- else if eq $n 1 }} was updated{{- else }} were updated{{- end -}}`,
  'json by hand': `[{{ $len := len .Entries }}{{ range $idx, $e := .Entries }}{"level": {{ printf "%q" $e.Level }}, "message": {{ printf "%q" $e.Message }}}{{ if lt $idx $len }},{{ end }}{{ end }}]`,
  'a defined line': `{{ define "line" }}- {{ .Name }}: {{ .State }}{{ with .Error }} ({{ . }}){{ end }}{{ end }}{{ with .Report }}{{ range .All }}{{ template "line" . }}
{{ else }}none{{ end }}{{ end }}`,
  'data of entries': `{{ range .Entries }}{{ if or (eq .Message "Found new image" "Started new container") (ne .Level "info") }}{{ .Message }}: {{ .Data.container }} {{ index .Data "image" }} {{ .Data.nope }}
{{ end }}{{ end }}`,
  'functions of all kinds': `{{ .Title }} @ {{ .Host }}{{/* c */}} {{ if and .Report (not .Report.Failed) }}good{{ else }}bad{{ end }} {{ printf "%-5s|%3d|%v" "ab" 7 true }} {{ print 1 2 "a" "b" 3 }} {{ slice "abcdef" 1 3 }}`,
  'every field of a container': `{{with .Report}}{{range .All}}{{.Name}} {{.ImageName}} {{.State}} {{.Error}} {{.NewContainerID}}{{.NewContainerID.ShortID}} {{.IsMonitorOnly}}: {{.CooldownAge}} of {{.CooldownDelay}}{{if .CooldownPassed}}, old enough{{else if .CooldownRemaining}}, in {{.CooldownRemaining}}, {{.CooldownEligibleAt.Format "2006-01-02 15:04 MST"}}{{end}} {{.CooldownEligibleAt.IsZero}} {{.CooldownEligibleAt.Year}}
{{end}}{{end}}`,
  titles: String.raw`{{Title "hello wORLD don't"}}|{{Title "nginx:latest a.b.c a_b x-y 12ab 3.5rc"}}|{{Title "ÉCOLE d'été o’neil STRASSE straße"}}|{{Title "ǆ ǅ ﬁnd ŉ ΑΣ ΟΔΟΣ σ"}}|{{Title "ijs İSTANBUL ı i̇ x"}}|{{Title "a·b a‧b a:b a::b 'a' \"b\" a''b"}}|{{Title "日本 ñandú e\u0301a 😀ab"}}|{{Title ""}}|{{Title "\tTAB\nline  two"}}|{{Title "r2-d2 C3PO v1.2.3-RC.1 sha256:ABC"}}`,
  'everything as json': '{{ . | ToJSON }}',
};
