import java.lang.reflect.Method;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginBundle;
import org.elasticsearch.plugins.PluginsLoader;

/** Starts a bare Elasticsearch node: arguments are its home, its config folder and its name. */
public class StartNode {
    public static void main(String[] args) throws Exception {
        Settings home = Settings.builder().put("path.home", args[0]).build();
        LogConfigurator.setNodeName(args[2]);
        Environment env =
                InternalSettingsPreparer.prepareEnvironment(
                        home, Map.of(), Path.of(args[1]), () -> args[2]);
        LogConfigurator.configure(env, true);
        PluginsLoader loader =
                PluginsLoader.createPluginsLoader(modules(env), Set.of(), Map.of(), false);
        Node node = new Node(env, loader);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node)));
        node.start();
        // The tests hold the other end: when they die, however they die, so does the server.
        while (System.in.read() >= 0) {}
        System.exit(0);
    }

    /** The method has a second parameter from 9.0 on. */
    @SuppressWarnings("unchecked")
    private static Set<PluginBundle> modules(Environment env) throws Exception {
        for (Method method : PluginsLoader.class.getMethods()) {
            if (method.getName().equals("loadModulesBundles")) {
                Path path = env.modulesDir();
                Object bundles =
                        method.getParameterCount() == 1
                                ? method.invoke(null, path)
                                : method.invoke(null, path, false);
                return (Set<PluginBundle>) bundles;
            }
        }
        throw new IllegalStateException("this Elasticsearch has no loadModulesBundles");
    }

    private static void close(Node node) {
        try {
            node.close();
        } catch (Exception error) {
            error.printStackTrace();
        }
    }
}
