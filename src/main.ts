import { COMMANDS } from './cli/commands.ts';
import { runCommand } from './cli/run.ts';

process.exitCode = await runCommand(COMMANDS, process.argv.slice(2));
