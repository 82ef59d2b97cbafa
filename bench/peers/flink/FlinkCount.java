import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.serialization.SimpleStringEncoder;
import org.apache.flink.api.common.state.ValueState;
import org.apache.flink.api.common.state.ValueStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.file.sink.FileSink;
import org.apache.flink.connector.file.src.FileSource;
import org.apache.flink.connector.file.src.reader.TextLineInputFormat;
import org.apache.flink.core.fs.Path;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.KeyedProcessFunction;
import org.apache.flink.streaming.api.functions.sink.filesystem.rollingpolicies.OnCheckpointRollingPolicy;
import org.apache.flink.util.Collector;

/**
 * JSONL file in, a running count per user, one line per event out, exactly once, in Flink's local mini cluster.
 *
 * <p>Reads lines `INPUT OUTPUT CHECKPOINTS`, runs the job for each, and says `done`. The process stays, so that only its
 * first runs are cold.
 */
public class FlinkCount {
  static final class Count extends KeyedProcessFunction<String, String, String> {
    private transient ValueState<Long> count;

    @Override
    public void open(OpenContext context) {
      count = getRuntimeContext().getState(new ValueStateDescriptor<>("count", Types.LONG));
    }

    @Override
    public void processElement(String user, Context context, Collector<String> out) throws Exception {
      Long before = count.value();
      long now = before == null ? 1 : before + 1;
      count.update(now);
      out.collect("{\"user\":\"" + user + "\",\"count\":" + now + "}");
    }
  }

  public static void main(String[] args) throws Exception {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] places = line.split(" ");
      run(places[0], places[1], places[2]);
      System.out.println("done");
    }
    System.exit(0);
  }

  private static void run(String input, String output, String checkpoints) throws Exception {
    Configuration settings = new Configuration();
    settings.setString("execution.checkpointing.dir", new File(checkpoints).toURI().toString());
    settings.setString("execution.checkpointing.storage", "filesystem");
    settings.setString("execution.checkpointing.interval", "1 s");
    settings.setString("execution.checkpointing.mode", "EXACTLY_ONCE");
    settings.setString("state.backend.type", "hashmap");
    settings.setString("pipeline.object-reuse", "true");
    StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, settings);
    ObjectMapper json = new ObjectMapper();
    FileSource<String> source =
        FileSource.forRecordStreamFormat(new TextLineInputFormat(), new Path(input)).build();
    FileSink<String> sink =
        FileSink.forRowFormat(new Path(output), new SimpleStringEncoder<String>("UTF-8"))
            .withRollingPolicy(OnCheckpointRollingPolicy.build())
            .build();
    env.fromSource(source, WatermarkStrategy.noWatermarks(), "in")
        .map(line -> json.readTree(line).get("user").asText())
        .returns(Types.STRING)
        .keyBy(user -> user)
        .process(new Count())
        .sinkTo(sink);
    env.execute("count");
  }
}
