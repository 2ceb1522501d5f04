// Run the commands that come on stdin, one a line, and print the result of each on stdout.
import { createInterface } from 'node:readline';

export async function run(commands) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [name, ...args] = JSON.parse(line);
    console.log(JSON.stringify((await commands[name](...args)) ?? null));
  }
  process.exit();
}
