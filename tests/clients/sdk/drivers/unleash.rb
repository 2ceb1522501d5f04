# Drive ruby-unleash 3, an old Unleash SDK for Ruby that Debian has (tests/support/sdk.py).
require 'json'
require 'logger'
require 'unleash'

$stdout.sync = true
given = JSON.parse(ARGV[0])
client = Unleash::Client.new(
  url: "#{given['url']}/api",
  app_name: given['appName'],
  custom_http_headers: { 'Authorization' => given['token'] },
  refresh_interval: 1,
  metrics_interval: 3600,
  # The default is to give up after two failures in a row.
  retry_limit: 1000,
  backup_file: 'flags.json',
  logger: Logger.new($stderr)
)

context = ->(values) { Unleash::Context.new(values) }
commands = {
  'isReady' => -> { !Unleash.toggles.nil? },
  'isEnabled' => ->(flag, values) { client.is_enabled?(flag, context.(values)) },
  'getVariant' => lambda do |flag, values|
    variant = client.get_variant(flag, context.(values), Unleash::FeatureToggle.new.send(:disabled_variant))
    [variant.name, variant.payload && variant.payload['value']]
  end,
  'sendReport' => -> { Unleash.reporter.send && nil }
}
$stdin.each_line do |line|
  name, *arguments = JSON.parse(line)
  puts JSON.generate(commands[name].(*arguments))
end
