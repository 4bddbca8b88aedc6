# SPDX-License-Identifier: GPL-2.0-or-later
# Prints the faults of the dashboards in the input, one per line; nothing if there are none.
def builtin_variables: ["__rate_interval", "__range", "__from", "__to", "__url_time_range", "__value"];
def used: [.. | strings | scan("\\$\\{?([a-z_]+)")[0]] | unique;

inputs
| .uid as $uid
| def fault($what): "\($uid): \($what)";
  (if .id == null and (.uid | test("^jobio-[a-z-]{1,30}$")) and .schemaVersion == 37 then empty
   else fault("id, uid or schemaVersion") end),
  (if (.time.from | startswith("now-")) and .time.to == "now" then empty else fault("an absolute time") end),
  (if (.tags | index("jobio")) and .title and .description then empty else fault("no tag, title or description") end),
  (if .refresh | test("^[0-9]+[sm]$") then empty else fault("no refresh") end),
  (if any(.links[]; .type == "dashboards" and .tags == ["jobio"] and .includeVars and .keepTime) then empty
   else fault("no links to the other dashboards") end),
  ([.panels[].id] | if length == (unique | length) and all(type == "number") then empty else fault("panel ids") end),
  # variables
  ([.templating.list[].name] + builtin_variables) as $known
  | (.panels + [.templating] | used - $known | if . == [] then empty else fault("unknown variables \(.)") end),
    (([.templating.list[].name] - ([.panels, .templating] | used)) | if . == [] then empty else fault("unused variables \(.)") end),
    (.templating.list[] | select(.type == "datasource")
     | if .name == "prometheus" and .query == "prometheus"
         or .name == "clickhouse" and .query == "grafana-clickhouse-datasource" then empty
       else fault("datasource variable \(.name)") end),
  # data sources are variables everywhere
    ([.. | .datasource? // empty] | unique[]
     | if . == {type: "prometheus", uid: "${prometheus}"}
         or . == {type: "grafana-clickhouse-datasource", uid: "${clickhouse}"} then empty
       else fault("datasource \(.)") end),
  # panels
    (.panels[] | select(.type != "row" and .type != "text")
     | def wrong($what): fault("panel \(.title): \($what)");
       (if (.description | length) > 0 and (.title | length) > 0 then empty else wrong("no title or text") end),
       ([.targets[].refId] | if length > 0 and length == (unique | length) then empty else wrong("refIds") end),
       (if all(.targets[]; (.expr // .rawSql // "") != "" and .datasource) then empty else wrong("a target without a query") end),
       (if .fieldConfig.defaults.unit or ([.fieldConfig.overrides[].properties[] | select(.id == "unit")] != []) then empty
        else wrong("no unit") end),
       (if .type == "table" and ([.targets[] | select(.expr)] != [])
        then ([.transformations[] | select(.id == "organize").options.renameByName[]]) as $columns
          | ([.fieldConfig.overrides[].matcher.options] - $columns)
          | if . == [] then empty else wrong("overrides of no column: \(.)") end
        else empty end)),
    # positions: within 24 columns, no overlap
    (if all(.panels[].gridPos; .x >= 0 and .w > 0 and .h > 0 and .x + .w <= 24) then empty else fault("beyond 24 columns") end),
    ([.panels[] | .gridPos as $g | range($g.y; $g.y + $g.h) as $y | range($g.x; $g.x + $g.w) as $x | "\($x),\($y)"]
     | if length == (unique | length) then empty else fault("panels overlap") end)
