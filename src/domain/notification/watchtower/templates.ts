/** The default templates of the Watchtower family, and its named ones. */
export const builtInTemplates: ReadonlyMap<string, string> = new Map([
  [
    'default',
    `{{- define "line"}}{{println}}- {{.Name}} ({{.ImageName}}): {{end -}}
{{- with .Report -}}
{{len .Scanned}} Scanned, {{len .Updated}} Updated, {{len .Restarted}} Restarted, {{len .Failed}} Failed, {{/**/ -}}
{{len .Fresh}} Fresh, {{len .Skipped}} Skipped
{{- range .Updated}}{{template "line" .}}{{.CurrentImageID.ShortID}} updated to {{.LatestImageID.ShortID}}{{end}}
{{- range .Restarted}}{{template "line" .}}{{.State}}{{end}}
{{- range .Fresh}}{{template "line" .}}{{.State}}{{end}}
{{- range .Skipped}}{{template "line" .}}{{.State}}: {{.Error}}{{end}}
{{- range .Failed}}{{template "line" .}}{{.State}}: {{.Error}}{{end}}
{{- else}}
{{- range .Entries}}{{println .Message}}{{end}}
{{- end -}}`,
  ],
  [
    'default-legacy',
    `{{- define "known"}}{{with .}}{{.}}{{else}}unknown{{end}}{{end -}}
{{- range $place, $entry := . -}}
{{- $message := .Message}}{{$data := .Data -}}
{{- if $place}}{{println}}{{end -}}
{{- if eq $message "Found new image" -}}
Found new image: {{template "known" $data.image}} ({{template "known" $data.new_id}})
{{- else if eq $message "Stopping container" -}}
Stopped stale container: {{template "known" $data.container}} ({{template "known" $data.id}})
{{- else if eq $message "Stopping linked container" -}}
Stopped linked container: {{template "known" $data.container}} ({{template "known" $data.id}})
{{- else if eq $message "Started new container" "Started linked container" -}}
{{$message}}: {{template "known" $data.container}} ({{template "known" $data.new_id}})
{{- else if eq $message "Container updated" -}}
Updated container: {{template "known" $data.container}} ({{template "known" $data.image}}): {{/**/ -}}
{{template "known" $data.old_id}} updated to {{template "known" $data.new_id}}
{{- else if eq $message "Removing image" -}}
Cleaned up old image: {{template "known" $data.image_name}} ({{template "known" $data.image_id}})
{{- else if eq $message "Image is within cooldown period - not eligible for update" -}}
{{template "known" $data.image}} created less than {{template "known" $data.cooldown}} ago - eligible in {{/**/ -}}
{{template "known" $data.eligible_in}} ({{with $data.eligible_at}}{{RFC1123 .}}{{else}}unknown{{end}})
{{- else if eq $message "Image age exceeds cooldown - eligible for update" -}}
{{template "known" $data.image}} created more than {{template "known" $data.cooldown}} ago - eligible for update
{{- else if eq $message "Image creation time unavailable - update check unavailable" -}}
{{template "known" $data.image}} creation time unavailable (cooldown: {{template "known" $data.cooldown}}) - {{/**/ -}}
update check unavailable
{{- else if eq $message "Skipping Watchtower self-update in run-once mode" -}}
Run once mode: Watchtower self-update skipped
{{- else if eq $message "Detected multiple Watchtower instances - initiating cleanup" -}}
Detected {{template "known" $data.count}} Watchtower instances - initiating cleanup
{{- else if eq $message "Successfully removed all excess Watchtower containers" -}}
Successfully removed {{template "known" $data.removed_instances}} old Watchtower container
{{- with $data.removed_instances}}{{if ne . 1}}s{{end}}{{end}}
{{- else if eq $message "Only checking containers in scope" -}}
{{$message}}: {{template "known" $data.scope}}
{{- else if $data -}}
{{$message}} | {{range $key, $value := $data}}{{$key}}={{$value}} {{end}}
{{- else -}}
{{$message}}
{{- end -}}
{{- end -}}`,
  ],
  [
    'porcelain.v1.summary-no-log',
    `{{- if .Report}}{{range .Report.All}}{{.Name}} ({{.ImageName}}): {{.State}}
{{- with .Error}} Error: {{.}}{{end}}{{println}}
{{- else}}no containers matched filter{{end}}
{{- else}}no containers matched filter{{end -}}`,
  ],
  ['json.v1', '{{. | ToJSON}}'],
  ['porcelain.json', '{{.Report | ToPorcelainJSON}}'],
]);
